// An API with one chat and a live channel, in place of `fetch` and `WebSocket`, and a clock that
// tests move.
import { mock } from "node:test";

export const AGENT = { id: "agt_1", name: "Coach" };
const PAGE = 2;

/** A connection that a client has opened. */
class FakeSocket {
  static OPEN = 1;
  readyState = 0;
  sent = [];

  constructor(api, url) {
    this.api = api;
    this.url = url;
    api.sockets.push(this);
  }

  open() {
    this.readyState = FakeSocket.OPEN;
    this.onopen?.();
  }

  send(text) {
    const frame = JSON.parse(text);
    this.sent.push(frame);
    if (frame.type === "ping" && this.api.answersPings) this.push({ type: "pong" });
  }

  push(frame) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  /** Lose the connection, as the server or the network does. */
  drop(code = 1006) {
    this.readyState = 3;
    this.onclose?.({ code });
  }

  /** Close, as the client does; a server that is gone never answers. */
  close() {
    this.readyState = 2;
  }
}

/** The API; `install` puts it in place of `fetch`, `WebSocket` and the clock. */
export class FakeApi {
  texts = [];
  sender = { kind: "user", id: "usr_1", name: "Dana" };
  calls = [];
  posted = [];
  /** The next responses, in place of the answers: `{ status, headers, body }` or an error. */
  refusals = [];
  signedIn = true;
  answersPings = true;
  opens = true;
  sockets = [];

  install() {
    const api = this;
    mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
    mock.method(globalThis, "fetch", (url, options) => this.#fetch(new URL(url), options));
    this.original = globalThis.WebSocket;
    globalThis.WebSocket = class extends FakeSocket {
      constructor(url) {
        super(api, url);
        if (api.opens) queueMicrotask(() => this.open());
      }
    };
    return this;
  }

  uninstall() {
    mock.reset();
    mock.timers.reset();
    globalThis.WebSocket = this.original;
  }

  get socket() {
    return this.sockets.at(-1);
  }

  message(seq) {
    return { chat_id: "chat_1", seq, text: this.texts[seq - 1], sender: this.sender };
  }

  push(seq) {
    this.socket.push({ type: "message", chat_id: "chat_1", message: this.message(seq) });
  }

  pushWords(n, text) {
    this.socket.push({ type: "delta", chat_id: "chat_1", agent: AGENT, n, text });
  }

  async #fetch(url, { method, body, headers, redirect }) {
    this.calls.push(`${method} ${url.pathname}`);
    this.headers = headers;
    this.host = url.host;
    this.redirect = redirect;
    const sent = body === undefined ? undefined : JSON.parse(body);
    if (sent !== undefined) this.posted.push(sent);
    const refusal = this.refusals.shift();
    if (refusal instanceof Error) throw refusal;
    if (refusal !== undefined) {
      const error = { code: "scripted", detail: "as the test says" };
      return new Response(refusal.body ?? JSON.stringify(error), refusal);
    }
    if (!this.signedIn) return Response.json({ message: "Unauthorized" }, { status: 401 });
    return Response.json(this.#answer(url, sent));
  }

  #answer(url, sent) {
    if (url.pathname === "/v1/live") return { url: "ws://live.test", ticket: "secret" };
    const last_seq = this.texts.length;
    if (url.pathname === "/v1/chats") return { items: [{ id: "chat_1", last_seq }], next_cursor: null };
    if (url.pathname === "/v1/me/choices") return { items: [{ chat_id: "chat_1", seq: 1 }], next_cursor: null };
    if (url.pathname.endsWith("/invitation")) return {};
    if (sent !== undefined) return this.message(this.texts.push(sent.text ?? sent.choice.option));
    const first = Number(url.searchParams.get("cursor") ?? url.searchParams.get("after"));
    const items = [];
    for (let seq = first + 1; seq <= Math.min(last_seq, first + PAGE); seq += 1) {
      items.push(this.message(seq));
    }
    return { items, next_cursor: first + PAGE < last_seq ? String(first + PAGE) : null };
  }
}

/** Run what is due now, also after promises. */
export async function settle() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((done) => setImmediate(done));
}

/** Move the clock by some milliseconds. */
export async function pass(milliseconds) {
  await settle();
  mock.timers.tick(milliseconds);
  await settle();
}
