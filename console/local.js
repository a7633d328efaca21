// Calls under `/local`, which only a local stack has, and only for this machine.
import { Api, ApiError, withQuery } from "./api.js";
import { words } from "./words.js";

export const TENANT = "demo";
const OPERATOR = { sub: "operator", scope: "chat admin", name: "Operator" };

/** Call the stack under `/local`; throws an `ApiError`. */
export async function localCall(method, name, body, signal) {
  let answer;
  try {
    answer = await fetch(`/local/${name}`, {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", words.errors.unreachable);
  }
  const said = await answer.json().catch(() => ({}));
  if (answer.ok) return said;
  throw new ApiError(answer.status, said.code ?? "",
    said.detail ?? words.errors.status(answer.status));
}

/** Return the API as any local person. */
export async function apiOf({ sub, name, scope = "chat" }) {
  const { token } = await localCall("POST", "token", { sub, name, scope, tenant: TENANT });
  return new Api(() => token);
}

/** Return the API as the local operator. */
export function operatorApi() { return apiOf(OPERATOR); }

/** Return the SMS of a phone; with `after`, wait for a change. */
export function phoneSms(number, line, after, signal) {
  const wait = after === null ? null : 20;
  return localCall("GET", withQuery("phone", { number, line, after, wait }), undefined, signal);
}

/** Return the notifications on all phones of the stack, newest first. */
export function notifications(signal) { return localCall("GET", "notifications", undefined, signal); }

/** Return the clock, and the events that will fire, earliest first. */
export function dueEvents() { return localCall("GET", "due"); }
