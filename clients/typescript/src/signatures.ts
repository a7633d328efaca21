// Check what Skein sends to your service: events and calls of tools, by the rules of Standard Webhooks.

const PREFIX = "whsec_";
const TOLERANCE_SECONDS = 300;
const encoder = new TextEncoder();

/** The request does not come from Skein, was changed, or is too old. */
export class BadSignature extends Error {}

/** The context of a call. `person` is null unless the call answers one person's messages alone. */
export interface CallContext {
  tenant: string;
  agent_id: string | null;
  chat_id: string | null;
  run_id: string | null;
  person: string | null;
  readers: string[] | "tenant";
  request_sha256: string;
}

type Headers = Record<string, string | undefined>;

/**
 * Check the signature of a payload, and return its JSON.
 *
 * @param secret The secret of the tool, which begins with `whsec_`.
 * @param headers The headers of the request, with names in lower case.
 * @param payload The signed text.
 * @param now The time in seconds since 1970, for tests.
 * @throws BadSignature The signature is missing or wrong, or older than five minutes.
 */
export async function verifySigned(
  secret: string,
  headers: Headers,
  payload: string,
  now = Date.now() / 1000,
): Promise<unknown> {
  const id = headers["webhook-id"];
  const sentAt = headers["webhook-timestamp"];
  const given = (headers["webhook-signature"] ?? "").split(" ");
  if (!id || !sentAt || !/^\d+$/.test(sentAt)) throw new BadSignature("the request has no signature of Skein");
  const bytes = Uint8Array.from(atob(secret.replace(PREFIX, "")), (one) => one.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = encoder.encode(`${id}.${sentAt}.${payload}`);
  for (const one of given) {
    if (!one.startsWith("v1,")) continue;
    let signature: Uint8Array<ArrayBuffer>;
    try {
      signature = Uint8Array.from(atob(one.slice(3)), (character) => character.charCodeAt(0));
    } catch {
      continue;
    }
    const fits = await crypto.subtle.verify("HMAC", key, signature, signed);
    if (fits && Math.abs(now - Number(sentAt)) <= TOLERANCE_SECONDS) return JSON.parse(payload);
  }
  throw new BadSignature("the signature is wrong or too old");
}

/** An event by the rules of CloudEvents 1.0. `data` has ids and states. */
export interface SkeinEvent {
  id: string;
  type: string;
  source: string;
  subject: string;
  time: string;
  data: Record<string, unknown>;
}

/**
 * Check an event, and return it.
 *
 * @param secret The secret of the event endpoint.
 * @param headers The headers of the request, with names in lower case.
 * @param body The body, as it was received.
 * @param now The time in seconds since 1970, for tests.
 * @throws BadSignature The event was changed, or is too old.
 */
export async function verifyEvent(
  secret: string,
  headers: Headers,
  body: string,
  now = Date.now() / 1000,
): Promise<SkeinEvent> {
  const event = (await verifySigned(secret, headers, body, now)) as SkeinEvent;
  if (event.id !== headers["webhook-id"]) throw new BadSignature("the signature belongs to another event");
  return event;
}

/**
 * Check the call of a tool, and return its context.
 *
 * @param secret The secret of the tool.
 * @param headers The headers of the request, with names in lower case.
 * @param request The method, the whole URL as the tool has it, and the body.
 * @param now The time in seconds since 1970, for tests.
 * @throws BadSignature The context or the request was changed, or is too old.
 */
export async function verifyCall(
  secret: string,
  headers: Headers,
  request: { method: string; url: string; body?: string },
  now = Date.now() / 1000,
): Promise<CallContext> {
  let payload: string;
  try {
    const encoded = (headers["skein-context"] ?? "").replace(/-/g, "+").replace(/_/g, "/");
    payload = new TextDecoder().decode(Uint8Array.from(atob(encoded), (one) => one.charCodeAt(0)));
  } catch {
    throw new BadSignature("the request has no context of Skein");
  }
  const context = (await verifySigned(secret, headers, payload, now)) as CallContext;
  const hashed = encoder.encode(`${request.method}\n${request.url}\n${request.body ?? ""}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", hashed));
  const hex = Array.from(digest, (one) => one.toString(16).padStart(2, "0")).join("");
  if (hex !== context.request_sha256) throw new BadSignature("the context belongs to another request");
  return context;
}
