// Calls of the public HTTP API with a person's token.
import { words } from "./words.js";

const TIMEOUT_MS = 30_000;

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Api {
  #token;
  #refused;

  /**
   * @param {() => string|null} token Returns the token.
   * @param {() => void} refused Called when the API refuses the token.
   */
  constructor(token, refused = () => {}) {
    this.#token = token;
    this.#refused = refused;
  }

  get(path) { return this.call("GET", path); }
  post(path, body = {}) { return this.call("POST", path, body); }
  patch(path, body) { return this.call("PATCH", path, body); }
  delete(path) { return this.call("DELETE", path); }

  /** Make a call; return its JSON. Throws an `ApiError` with words for the person. */
  async call(method, path, body) {
    const answer = await this.#send(method, path, body === undefined ? undefined : JSON.stringify(body), "application/json");
    return answer.status === 204 ? null : jsonOf(answer);
  }

  /** Send a YAML file; return the JSON of the response. */
  async sendFile(method, path, text) { return jsonOf(await this.#send(method, path, text, "application/yaml")); }

  /** Return the text of a file. */
  async file(path) { return (await this.#send("GET", path)).text(); }

  async #send(method, path, body, type) {
    const headers = { authorization: `Bearer ${this.#token()}` };
    if (body !== undefined) headers["content-type"] = type;
    let answer;
    try {
      answer = await fetch(path, { method, headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch {
      throw new ApiError(0, "unreachable", words.errors.unreachable);
    }
    if (answer.status === 401) this.#refused();
    if (answer.ok) return answer;
    const error = (await answer.json().catch(() => null)) ?? {};
    throw new ApiError(answer.status, error.code ?? "", messageOf(answer.status, error));
  }

  /** Return the items of all pages of a list, at most `most`. */
  async items(path, most = 1000) {
    const found = [];
    let cursor = null;
    do {
      const page = await this.get(withQuery(path, { limit: 100, cursor }));
      found.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor !== null && found.length < most);
    return found;
  }
}

/** Add parameters to a path; null ones are left out. */
export function withQuery(path, parameters) {
  const query = new URLSearchParams(
    Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined));
  return `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

async function jsonOf(answer) {
  try {
    return await answer.json();
  } catch {
    throw new ApiError(answer.status, "unreadable", words.errors.unreadable);
  }
}

function messageOf(status, error) {
  const reasons = (error.details?.reasons ?? []).map((reason) =>
    typeof reason === "string" ? reason : words.errors.field(reason.where.join("."), reason.why));
  const said = [error.detail, ...reasons].filter(Boolean).join("; ");
  if (said) return said;
  if (status === 429) return words.errors.busy;
  return status >= 500 ? words.errors.down(status) : words.errors.status(status);
}
