import { Backoff, LONGEST_MS, Pause } from "./backoff.js";
import { ApiError, Client, Unreachable, type Message } from "./client.js";

interface Author {
  id: string;
  name: string;
}
interface Frame {
  type: string;
  chat_id: string;
  message?: Message;
  agent?: Author;
  n?: number;
  text?: string;
  status?: string;
}

/**
 * What happens on the live channel.
 * - `connected`: the connection is open, and the messages that were missed have been reported.
 * - `lost`: the connection was lost; a new one follows.
 * - `message`: a new message, each once and in the order of `seq` within its chat.
 * - `draft`: all words so far of the answer that an agent is writing; "" if they are void. The
 *   message that follows is authoritative.
 * - `frame`: any other frame, as it arrived.
 */
export type LiveEvent =
  | { type: "connected" }
  | { type: "lost"; error: unknown }
  | { type: "message"; message: Message }
  | { type: "draft"; chatId: string; agent: Author; text: string }
  | { type: "frame"; frame: Frame };

export interface LiveOptions {
  /** By chat id, the highest `seq` that the app has. Without it, older messages are not reported. */
  seen?: Record<string, number>;
  /** The pause between pings; a connection without an answer to one is lost. */
  pingMs?: number;
}

/** The live channel of one person. */
export class Live {
  #seen: Map<string, number> | null;
  #drafts = new Map<string, { words: string; n: number }>();
  #socket: WebSocket | null = null;
  #stopped = false;
  #pause = new Pause();
  readonly #pingMs: number;

  constructor(
    private readonly client: Client,
    options: LiveOptions = {},
  ) {
    this.#seen = options.seen ? new Map(Object.entries(options.seen)) : null;
    this.#pingMs = options.pingMs ?? 120_000;
  }

  /** By chat id, the highest `seq` that was reported or is older; keep it for a restart. */
  get seen(): Record<string, number> {
    return Object.fromEntries(this.#seen ?? []);
  }

  /** End `events`. */
  stop(): void {
    this.#stopped = true;
    this.#socket?.close();
    this.#pause.wake();
  }

  /** Tell the others in a chat that the person is typing, if the connection is open. */
  typing(chatId: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify({ type: "typing", chat_id: chatId }));
    }
  }

  /** Yield what happens, and connect again after each lost connection. Throws a refused token. */
  async *events(): AsyncGenerator<LiveEvent> {
    const backoff = new Backoff();
    while (!this.#stopped) {
      const began = Date.now();
      try {
        yield* this.#listen();
      } catch (error) {
        if (error instanceof ApiError && error.needsSignIn) throw error;
        if (this.#stopped) return;
        yield { type: "lost", error };
      }
      if (Date.now() - began > LONGEST_MS) backoff.reset();
      if (!this.#stopped) await this.#pause.wait(backoff.pause());
    }
  }

  async *#listen(): AsyncGenerator<LiveEvent> {
    if (this.#seen === null) {
      const seen = new Map<string, number>();
      for await (const chat of this.client.chats()) seen.set(chat.id, chat.last_seq);
      this.#seen = seen;
    }
    const { url, ticket } = await this.client.ticket();
    const socket = new WebSocket(`${url}?ticket=${ticket}`);
    this.#socket = socket;
    const frames: Frame[] = [];
    const arrived = new Pause();
    let heard = Date.now();
    let lost: Error | null = null;
    const lose = (reason: string): void => {
      lost ??= new Unreachable(reason);
      arrived.wake();
    };
    socket.onmessage = ({ data }) => {
      heard = Date.now();
      frames.push(JSON.parse(String(data)) as Frame);
      arrived.wake();
    };
    socket.onclose = ({ code }) => lose(`the connection was closed with code ${code}`);
    socket.onerror = () => lose("the connection failed");
    const timer = setInterval(() => {
      if (Date.now() - heard > 1.5 * this.#pingMs) lose("no answer to a ping");
      else if (socket.readyState === WebSocket.OPEN) socket.send('{"type": "ping"}');
    }, this.#pingMs);
    try {
      await new Promise<void>((open) => {
        socket.onopen = () => open();
        socket.addEventListener("close", () => open());
      });
      if (lost === null) {
        for await (const chat of this.client.chats()) yield* this.#missed(chat.id);
        yield { type: "connected" };
      }
      for (;;) {
        for (let frame = frames.shift(); frame; frame = frames.shift()) yield* this.#handle(frame);
        if (lost !== null) throw lost as Error;
        await arrived.wait();
      }
    } finally {
      clearInterval(timer);
      this.#socket = null;
      socket.close();
    }
  }

  async *#handle(frame: Frame): AsyncGenerator<LiveEvent> {
    const { type, chat_id: chatId, agent, message } = frame;
    if (type === "message" && message) {
      const next = (this.#seen?.get(chatId) ?? 0) + 1;
      if (message.seq > next) yield* this.#missed(chatId);
      else yield* this.#report(message);
    } else if (type === "resync") yield* this.#missed(chatId);
    else if (type === "delta" && agent) yield* this.#delta(chatId, agent, frame.n ?? 0, frame.text ?? "");
    else if (type === "retract" && agent) yield* this.#void(chatId, agent);
    else if (type !== "pong") {
      const ended = type === "run" && (frame.status === "done" || frame.status === "failed");
      if (ended && agent) yield* this.#void(chatId, agent);
      yield { type: "frame", frame };
    }
  }

  async *#missed(chatId: string): AsyncGenerator<LiveEvent> {
    const after = this.#seen?.get(chatId) ?? 0;
    for await (const message of this.client.messages(chatId, after)) yield* this.#report(message);
  }

  *#report(message: Message): Generator<LiveEvent> {
    if (message.seq <= (this.#seen?.get(message.chat_id) ?? 0)) return;
    yield* this.#void(message.chat_id, message.sender as Author);
    this.#seen?.set(message.chat_id, message.seq);
    yield { type: "message", message };
  }

  /** Take words of an answer; those that are repeated, or after a gap, change nothing. */
  *#delta(chatId: string, agent: Author, n: number, text: string): Generator<LiveEvent> {
    const key = JSON.stringify([chatId, agent.id]);
    const { words, n: last } = n === 1 ? { words: "", n: 0 } : this.#drafts.get(key) ?? { words: "", n: -1 };
    if (n !== last + 1) return;
    this.#drafts.set(key, { words: words + text, n });
    yield { type: "draft", chatId, agent, text: words + text };
  }

  *#void(chatId: string, agent: Author): Generator<LiveEvent> {
    if (this.#drafts.delete(JSON.stringify([chatId, agent.id]))) {
      yield { type: "draft", chatId, agent, text: "" };
    }
  }
}
