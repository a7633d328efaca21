import type { components } from "./schema.js";

type Schemas = components["schemas"];
export type Agent = Schemas["AgentResource"];
export type Chat = Schemas["ChatResource"];
export type Message = Schemas["MessageResource"];
export type NewAnswer = Schemas["NewAnswer"];
export type NewChat = Schemas["NewChat"];
export type NewMessage = Schemas["NewChatMessage"];
export type OpenChoice = Schemas["OpenChoiceResource"];
export type Ticket = Schemas["TicketResource"];
type Query = Record<string, string | number | boolean | null | undefined>;
interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

const PAGE = 100;
const TOO_MANY = 429;
const SERVER_ERROR = 500;

/** The API refused a call, or failed. `code` is "" if the gateway itself answered. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(`${status} ${code}: ${message}`);
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
}

/** The API, as one person uses it; `token` may be a function that returns a current one. */
export class Client {
  readonly #url: string;

  constructor(
    url: string,
    private readonly token: string | (() => string | Promise<string>),
    private readonly timeoutMs = 30_000,
  ) {
    this.#url = url.replace(/\/+$/, "");
  }

  /** Make a call; return the JSON of its response. Throws ApiError or Unreachable. */
  async call<T>(method: string, path: string, body?: unknown, query: Query = {}): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const url = `${this.#url}${path}${given.length > 0 ? "?" : ""}${search}`;
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    let response: Response;
    let text: string;
    try {
      const token = typeof this.token === "string" ? this.token : await this.token();
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
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
      throw new Unreachable(`${method} ${path}: the response is not JSON`, { cause: error });
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

  /** Yield the person's chats, newest first. */
  chats(): AsyncGenerator<Chat> {
    return this.items("/v1/chats");
  }

  /** Open a chat. */
  createChat(chat: NewChat): Promise<Chat> {
    return this.call("POST", "/v1/chats", chat);
  }

  /** Yield the messages of a chat with a higher `seq` than `after`, oldest first. */
  messages(chatId: string, after = 0): AsyncGenerator<Message> {
    return this.items(`/v1/chats/${encodeURIComponent(chatId)}/messages`, { after });
  }

  /** Post a message; with a repeated `client_id`, return the message that exists. */
  postMessage(chatId: string, message: NewMessage): Promise<Message> {
    return this.call("POST", `/v1/chats/${encodeURIComponent(chatId)}/messages`, message);
  }

  /**
   * Return the questions and invitations that the person can answer, oldest first. An invitation
   * has no `seq`; `answerInvitation` answers it.
   */
  async choices(): Promise<OpenChoice[]> {
    const page: Page<OpenChoice> = await this.call("GET", "/v1/me/choices");
    return page.items;
  }

  /**
   * Answer a question of a chat; return the answer's message. With a repeated `client_id`, return
   * the message that exists. Throws an ApiError with status 403 if the question is for another
   * person, and with 409 if it is answered already or has expired.
   */
  answerChoice(chatId: string, choice: NewAnswer, clientId: string): Promise<Message> {
    return this.postMessage(chatId, { choice, client_id: clientId });
  }

  /** Accept or decline an invitation to a chat. */
  answerInvitation(chatId: string, accept: boolean): Promise<void> {
    return this.call("POST", `/v1/chats/${encodeURIComponent(chatId)}/invitation`, { accept });
  }

  /** Get a ticket, which opens one live connection within 60 seconds. */
  ticket(): Promise<Ticket> {
    return this.call("POST", "/v1/live");
  }
}

function apiError(response: Response, text: string): ApiError {
  const body = parsed(text);
  const message = body.error?.message ?? body.message ?? response.statusText;
  const after = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  const seconds = Number.isNaN(after) ? undefined : after;
  return new ApiError(response.status, body.error?.code ?? "", message, seconds);
}

/** Return the body of an error; empty if a proxy answered, and not with JSON. */
function parsed(text: string): { error?: { code?: string; message?: string }; message?: string } {
  try {
    return (JSON.parse(text) ?? {}) as ReturnType<typeof parsed>;
  } catch {
    return {};
  }
}
