import { streamAnswer, type Words } from "./answers.js";
import { Backoff } from "./backoff.js";
import { Agents, Approvals, Desk, Lines, Plans, Tools, Users } from "./calls.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];
export type Agent = Schemas["AgentResource"];
export type Chat = Schemas["ChatResource"];
export type ChatChange = Schemas["ChatChange"];
export type ChatMember = Schemas["ChatMemberResource"];
export type FoundMessage = Schemas["RecalledMessage"];
export type MediaLink = Schemas["MediaLinkResource"];
export type Upload = Schemas["UploadResource"];
export type ListedAgent = Schemas["ListedAgent"];
export type Message = Schemas["MessageResource"];
export type NewAnswer = Schemas["NewAnswer"];
export type NewChat = Schemas["NewChat"];
export type NewMessage = Schemas["NewChatMessage"];
export type OpenChoice = Schemas["OpenChoiceResource"];
export type Ticket = Schemas["TicketResource"];
type Query = Record<string, string | number | boolean | null | undefined>;
/** A page of a list. */
export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

const LOCAL = "http://127.0.0.1:8787"; // a local stack
const PAGE = 100;
const TOO_MANY = 429;
const SERVER_ERROR = 500;
const MAX_RETRY_AFTER_MS = 60_000;
const MIN_PAUSE_MS = 500; // between looks for an answer
const MAX_PAUSE_MS = 3_000;
const REPEATABLE = new Set(["GET", "POST", "PUT", "DELETE"]);
// The last parts of the paths of calls that run again, with a second effect or for nothing.
const RUNS_AGAIN = ["/v1/live", "/try", "/replay", "/drafts"];
// The codes of errors that the API Gateway in front of Skein answers, whose body has none.
const GATEWAY_CODES: Record<number, string> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  413: "too_large",
  429: "rate_limited",
  500: "internal",
  503: "unavailable",
  504: "unavailable",
};

/** The fields of a problem (RFC 9457) that Skein adds, or that its response has. */
export interface Problem {
  type: string;
  title: string;
  /** More for programs, such as `reasons` of a 422. */
  details: Record<string, unknown>;
  /** The id of the request in the logs of Skein; "" if the response has none. */
  requestId: string;
}

/** The API refused a call, or failed. If the gateway itself answered, `code` follows the status. */
export class ApiError extends Error implements Problem {
  override name = "ApiError";
  readonly type: string;
  readonly title: string;
  readonly details: Record<string, unknown>;
  readonly requestId: string;

  constructor(
    readonly status: number,
    readonly code: string,
    /** The explanation, without status and code. */
    readonly detail: string,
    readonly retryAfterSeconds?: number,
    problem: Partial<Problem> = {},
  ) {
    const request = problem.requestId ? ` (request ${problem.requestId})` : "";
    super(`${status} ${code}: ${detail}${request}`);
    this.type = problem.type ?? "about:blank";
    this.title = problem.title ?? "";
    this.details = problem.details ?? {};
    this.requestId = problem.requestId ?? "";
  }

  /** Whether the token has expired, is not valid or lacks the scope. */
  get needsSignIn(): boolean {
    return this.status === 401 || this.status === 403;
  }

  /** Whether the same call may succeed later. */
  get isTemporary(): boolean {
    return this.status === TOO_MANY || this.status >= SERVER_ERROR;
  }
}

/**
 * The API could not be reached, or the connection was lost before its response. Also if something
 * else answered, for example the sign-in page of a public network, or if there is no token.
 */
export class Unreachable extends Error {
  override name = "Unreachable";

  constructor(
    message: string,
    options?: ErrorOptions,
    /** Whether something else answered. */
    readonly answered = false,
  ) {
    super(message, options);
  }
}

/** Nobody has answered `posted` in time; the answer may still come. */
export class NoAnswer extends Error {
  override name = "NoAnswer";

  constructor(readonly posted: Message) {
    super("no answer in time");
  }
}

/**
 * The API, as the person or the operator of a token uses it; `token` may be a function that returns a
 * current one, or null for calls that need none. By default, `SKEIN_URL` and `SKEIN_TOKEN` of the
 * environment are read. Failed calls are repeated if this has no second effect: reads, PUT, DELETE,
 * and POST, which gets one `Idempotency-Key` for all its attempts. Calls that run again (`try`,
 * `replay`, drafts and live tickets) and PATCH are not repeated.
 */
export class Client {
  readonly agents = new Agents(this);
  readonly chats = new Chats(this);
  readonly members = new Members(this);
  readonly messages = new Messages(this);
  readonly media = new Media(this);
  readonly choices = new Choices(this);
  readonly approvals = new Approvals(this);
  readonly desk = new Desk(this);
  readonly lines = new Lines(this);
  readonly plans = new Plans(this);
  readonly tools = new Tools(this);
  readonly users = new Users(this);
  readonly #url: string;

  constructor(
    url = environment("SKEIN_URL") ?? LOCAL,
    private readonly token: string | null | (() => string | Promise<string>) = environment("SKEIN_TOKEN") ?? "",
    private readonly timeoutMs = 30_000,
    private readonly retries = 2,
  ) {
    if (token === "") throw new TypeError("there is no token: pass one, or set SKEIN_TOKEN");
    this.#url = url.replace(/\/+$/, "");
  }

  /** Return a client that repeats calls so often after a temporary failure. */
  withRetries(retries: number): Client {
    return new Client(this.#url, this.token, this.timeoutMs, retries);
  }

  /** Make a call; return the JSON of its response. Throws ApiError or Unreachable. */
  async call<T>(method: string, path: string, body?: unknown, query: Query = {}): Promise<T> {
    const repeatable = REPEATABLE.has(method) && !RUNS_AGAIN.some((end) => path.endsWith(end));
    const key: Record<string, string> =
      method === "POST" ? { "Idempotency-Key": crypto.randomUUID() } : {};
    const backoff = new Backoff();
    for (let left = repeatable ? this.retries : 0; ; left -= 1) {
      try {
        return await this.#callOnce(method, path, body, query, key);
      } catch (error) {
        const refused = error instanceof ApiError;
        const wanted = refused ? 1000 * (error.retryAfterSeconds ?? 0) : 0;
        const again = refused ? error.isTemporary : error instanceof Unreachable && !error.answered;
        if (left === 0 || !again || wanted > MAX_RETRY_AFTER_MS) throw error;
        await new Promise((done) => setTimeout(done, Math.max(backoff.pause(), wanted)));
      }
    }
  }

  async #callOnce<T>(
    method: string,
    path: string,
    body: unknown,
    query: Query,
    key: Record<string, string>,
  ): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const url = `${this.#url}${path}${given.length > 0 ? "?" : ""}${search}`;
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    let response: Response;
    let text: string;
    try {
      const token = typeof this.token === "function" ? await this.token() : this.token;
      const headers: Record<string, string> = { ...key };
      if (token !== null) headers["Authorization"] = `Bearer ${token}`;
      if (body !== undefined) headers["Content-Type"] = "application/json";
      const signal = AbortSignal.timeout(this.timeoutMs);
      // The API has no redirects, and another server must not get the message.
      response = await fetch(url, { method, headers, signal, redirect: "error", ...sent });
      text = await response.text();
    } catch (error) {
      if (error instanceof ApiError) throw error; // of a call that was to get a token
      throw new Unreachable(`${method} ${path}: ${String(error)}`, { cause: error });
    }
    if (!response.ok) throw apiError(response, text);
    try {
      return (text === "" ? undefined : JSON.parse(text)) as T;
    } catch (error) {
      throw new Unreachable(`${method} ${path}: the response is not JSON`, { cause: error }, true);
    }
  }

  /** Yield the items of all pages of a list. */
  async *items<T>(path: string, query: Query = {}): AsyncGenerator<T> {
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.call("GET", path, undefined, { limit: PAGE, ...query, cursor });
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** Find messages of the person's chats by meaning, words, names and time, best first. */
  async search(text: string, limit = 20): Promise<FoundMessage[]> {
    const found: Page<FoundMessage> = await this.call("GET", "/v1/me/messages", undefined, {
      q: text,
      limit,
    });
    return found.items;
  }

  /** Get a ticket, which opens one live connection within 60 seconds. */
  ticket(): Promise<Ticket> {
    return this.call("POST", "/v1/live");
  }
}

/** How `ask` posts and waits: its idempotency key, and the longest wait for an answer. */
export interface AskOptions {
  clientId?: string;
  seconds?: number;
}

/** The person's chats (`client.chats`). */
class Chats {
  constructor(private readonly client: Client) {}

  /** Yield the person's chats, newest first. */
  list(): AsyncGenerator<Chat> {
    return this.client.items("/v1/chats");
  }

  /** Return a chat. */
  get(chatId: string): Promise<Chat> {
    return this.client.call("GET", pathOf(chatId));
  }

  /** Open a chat; a `client_id` is added if it has none. */
  create(chat: NewChat): Promise<Chat> {
    return this.client.call("POST", "/v1/chats", { client_id: crypto.randomUUID(), ...chat });
  }

  /** Open a direct chat with an agent. */
  open(agentId: string): Promise<Chat> {
    return this.create({ kind: "direct", members: [{ kind: "agent", id: agentId }] } as NewChat);
  }

  /** Change a chat; fields that are left out stay. */
  change(chatId: string, change: ChatChange): Promise<Chat> {
    return this.client.call("PATCH", pathOf(chatId), change);
  }

  /** Discard a chat. */
  discard(chatId: string): Promise<void> {
    return this.client.call("DELETE", pathOf(chatId));
  }

  /**
   * Post a message and return the first answer of an agent, or of the team. With the `clientId` of
   * an earlier call, nothing is posted again. With `stream`, yield the words of the answer as they
   * arrive, by the live channel; the last ones have its message. Throws NoAnswer if nobody has
   * answered in time.
   */
  ask(chatId: string, text: string, options: AskOptions & { stream: true }): AsyncGenerator<Words>;
  ask(chatId: string, text: string, options?: AskOptions & { stream?: false }): Promise<Message>;
  ask(
    chatId: string,
    text: string,
    options: AskOptions & { stream?: boolean } = {},
  ): AsyncGenerator<Words> | Promise<Message> {
    const message = { text, client_id: options.clientId ?? crypto.randomUUID() } as NewMessage;
    const seconds = options.seconds ?? 60;
    if (options.stream) return streamAnswer(this.client, chatId, message, seconds);
    return this.#answer(chatId, message, seconds);
  }

  async #answer(chatId: string, message: NewMessage, seconds: number): Promise<Message> {
    const posted = await this.client.messages.send(chatId, message);
    const ends = Date.now() + 1000 * seconds;
    let seen = posted.seq;
    for (let pause = MIN_PAUSE_MS; ; pause = Math.min(1.5 * pause, MAX_PAUSE_MS)) {
      for await (const message of this.client.messages.list(chatId, seen)) {
        if (message.sender.kind !== "user") return message;
        seen = message.seq;
      }
      const left = ends - Date.now();
      if (left <= 0) throw new NoAnswer(posted);
      await new Promise((done) => setTimeout(done, Math.min(pause, left)));
    }
  }
}

/** The members of chats (`client.members`). */
class Members {
  constructor(private readonly client: Client) {}

  /** Yield the members of a chat, and the people who are invited to it. */
  list(chatId: string): AsyncGenerator<ChatMember> {
    return this.client.items(pathOf(chatId, "members"));
  }

  /** Add a member, or invite a person who shares no chat with the caller. */
  add(chatId: string, kind: "user" | "agent", memberId: string): Promise<Chat> {
    return this.client.call("PUT", pathOf(chatId, "members", kind, memberId));
  }

  /** Remove a member, leave the chat, or withdraw an own invitation. */
  remove(chatId: string, kind: "user" | "agent", memberId: string): Promise<void> {
    return this.client.call("DELETE", pathOf(chatId, "members", kind, memberId));
  }
}

/** The messages of chats (`client.messages`). */
class Messages {
  constructor(private readonly client: Client) {}

  /** Yield the messages of a chat with a higher `seq` than `after`, oldest first. */
  list(chatId: string, after = 0): AsyncGenerator<Message> {
    return this.client.items(pathOf(chatId, "messages"), { after });
  }

  /**
   * Post a message; with a repeated `clientId`, return the message that exists. `media` has the ids
   * of uploaded files; `text` is null for files alone.
   */
  post(
    chatId: string,
    text: string | null,
    { clientId, replyTo, media }: { clientId?: string; replyTo?: number; media?: string[] } = {},
  ): Promise<Message> {
    const reply = replyTo === undefined ? {} : { reply_to: replyTo };
    const files = media === undefined ? {} : { media };
    const client_id = clientId ?? crypto.randomUUID();
    return this.send(chatId, { text, client_id, ...files, ...reply });
  }

  /** Post a message as it is given; see `post`. */
  send(chatId: string, message: NewMessage): Promise<Message> {
    return this.client.call("POST", pathOf(chatId, "messages"), message);
  }

  /** Delete your own message. */
  delete(chatId: string, seq: number): Promise<void> {
    return this.client.call("DELETE", pathOf(chatId, "messages", String(seq)));
  }

  /** Mark the messages of a chat as read, up to this one. */
  markRead(chatId: string, seq: number): Promise<void> {
    return this.client.call("POST", pathOf(chatId, "read"), { seq });
  }
}

/** Pictures and files of messages (`client.media`). */
class Media {
  constructor(private readonly client: Client) {}

  /** Upload a file for a message of a chat; return its id, for `messages.post`. */
  async upload(chatId: string, file: Blob, type = file.type): Promise<string> {
    const data = await file.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
    const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const announced = { chat_id: chatId, type, bytes: data.byteLength, sha256 };
    const upload: Upload = await this.client.call("POST", "/v1/media", announced);
    let response: Response;
    try {
      response = await fetch(upload.url, { method: upload.method, headers: upload.headers, body: data });
    } catch (error) {
      throw new Unreachable("upload", { cause: error });
    }
    if (!response.ok) throw apiError(response, await response.text());
    return upload.id;
  }

  /** Return a URL of a file, which works for five minutes. */
  link(chatId: string, mediaId: string): Promise<MediaLink> {
    return this.client.call("GET", pathOf(chatId, "media", mediaId));
  }
}

/** The questions and invitations that the person can answer (`client.choices`). */
class Choices {
  constructor(private readonly client: Client) {}

  /** Return them, oldest first. An invitation has no `seq`; `answerInvitation` answers it. */
  async list(): Promise<OpenChoice[]> {
    const page: Page<OpenChoice> = await this.client.call("GET", "/v1/me/choices");
    return page.items;
  }

  /**
   * Answer a question of a chat; return the answer's message. With a repeated `clientId`, return
   * the message that exists. Throws an ApiError with status 403 if the question is for another
   * person, and with 409 if it is answered already or has expired.
   */
  answer(chatId: string, choice: NewAnswer, clientId?: string): Promise<Message> {
    const client_id = clientId ?? crypto.randomUUID();
    return this.client.messages.send(chatId, { choice, client_id });
  }

  /** Accept or decline an invitation to a chat. */
  answerInvitation(chatId: string, accept: boolean): Promise<void> {
    return this.client.call("POST", pathOf(chatId, "invitation"), { accept });
  }
}

function pathOf(...parts: string[]): string {
  return ["/v1/chats", ...parts.map(encodeURIComponent)].join("/");
}

/** Return a variable of the environment; undefined if it is empty, and in browsers. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

function apiError(response: Response, text: string): ApiError {
  const body = parsed(text);
  const detail = body.detail ?? body.message ?? response.statusText;
  const code = body.code ?? GATEWAY_CODES[response.status] ?? "";
  const after = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return new ApiError(response.status, code, detail, Number.isNaN(after) ? undefined : after, {
    type: body.type ?? "about:blank",
    title: body.title ?? response.statusText,
    details: body.details ?? {},
    requestId: body.request_id ?? response.headers.get("apigw-requestid") ?? "",
  });
}

interface ErrorBody {
  type?: string;
  title?: string;
  detail?: string;
  message?: string;
  code?: string;
  details?: Record<string, unknown>;
  request_id?: string;
}

/** Return the body of an error; empty if a proxy answered, and not with JSON. */
function parsed(text: string): ErrorBody {
  try {
    return (JSON.parse(text) ?? {}) as ErrorBody;
  } catch {
    return {};
  }
}
