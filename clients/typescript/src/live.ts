import { Backoff, LONGEST_MS, Pause } from "./backoff.js";
import { ApiError, Client, Unreachable, type Message } from "./client.js";

const NOT_FOUND = 404;

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
 * - `draft`: all words so far of the answer that an agent is writing; "" if they are void, `ended` if
 *   the agent has ended its answer. The message that follows is authoritative.
 * - `frame`: any other frame, as it arrived.
 */
export type LiveEvent =
  | { type: "connected" }
  | { type: "lost"; error: unknown }
  | { type: "message"; message: Message }
  | { type: "draft"; chatId: string; agent: Author; text: string; ended: boolean }
  | { type: "frame"; frame: Frame };

export interface LiveOptions {
  /** By chat id, the highest `seq` that the app has. Without it, older messages are not reported. */
  seen?: Record<string, number>;
  /** Follow this chat alone, for example because the token opens no other; needs its `seen`. */
  chatId?: string;
  /** The pause between pings; a connection without an answer to one is lost. */
  pingMs?: number;
}

/** The words of the answers that agents are writing. */
class Drafts {
  #drafts = new Map<string, { chatId: string; agent: Author; text: string; n: number }>();

  /** Take words of an answer; those that are repeated, or after a gap, change nothing. */
  *add(chatId: string, agent: Author, n: number, text: string): Generator<LiveEvent> {
    const key = JSON.stringify([chatId, agent.id]);
    const begun = this.#drafts.get(key);
    if (n !== 1 && n !== (begun?.n ?? -1) + 1) return;
    const grown = n === 1 ? text : `${begun?.text ?? ""}${text}`;
    this.#drafts.set(key, { chatId, agent, text: grown, n });
    if (grown !== begun?.text) yield { type: "draft", chatId, agent, text: grown, ended: false };
  }

  /** Void the draft of an agent in a chat, if there is one. */
  *void(chatId: string, agent: Author, ended = false): Generator<LiveEvent> {
    if (this.#drafts.delete(JSON.stringify([chatId, agent.id]))) {
      yield { type: "draft", chatId, agent, text: "", ended };
    }
  }

  *voidAll(): Generator<LiveEvent> {
    for (const { chatId, agent } of [...this.#drafts.values()]) yield* this.void(chatId, agent);
  }
}

/** The live channel of one person. */
export class Live {
  #seen: Map<string, number> | null;
  #drafts = new Drafts();
  #socket: WebSocket | null = null;
  #shown: string | null = null;
  #lose: (reason: string) => void = () => undefined;
  #stopped = false;
  #pause = new Pause();
  readonly #pingMs: number;
  readonly #chatId: string | undefined;
  private readonly client: Client;

  constructor(client: Client, options: LiveOptions = {}) {
    this.client = client.withRetries(0); // a lost connection is reported at once
    this.#seen = options.seen ? new Map(Object.entries(options.seen)) : null;
    this.#pingMs = options.pingMs ?? 120_000;
    this.#chatId = options.chatId;
  }

  /** By chat id, the highest `seq` that was reported or is older; keep it for a restart. */
  get seen(): Record<string, number> {
    return Object.fromEntries(this.#seen ?? []);
  }

  /** End `events`. */
  stop(): void {
    this.#stopped = true;
    this.#lose("stopped");
    this.#pause.wake();
  }

  /** Tell the others in a chat that the person is typing, if the connection is open. */
  typing(chatId: string): void {
    this.#send({ type: "typing", chat_id: chatId });
  }

  /** Say which chat the app shows, or null for none: the person's phones do not ring for it. */
  showing(chatId: string | null): void {
    this.#shown = chatId;
    this.#send({ type: "showing", chat_id: chatId });
  }

  #send(frame: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }

  /** Yield what happens, and connect again after each lost connection. Throws a refused token. */
  async *events(): AsyncGenerator<LiveEvent> {
    const backoff = new Backoff();
    while (!this.#stopped) {
      const began = Date.now();
      let atLeast = 0;
      try {
        yield* this.#listen();
      } catch (error) {
        if (error instanceof ApiError) {
          if (error.needsSignIn) throw error;
          atLeast = 1000 * (error.retryAfterSeconds ?? 0);
        }
        if (this.#stopped) return;
        yield* this.#drafts.voidAll();
        yield { type: "lost", error };
      }
      if (Date.now() - began > LONGEST_MS) backoff.reset();
      if (!this.#stopped) await this.#pause.wait(Math.max(backoff.pause(), atLeast));
    }
  }

  async *#listen(): AsyncGenerator<LiveEvent> {
    if (this.#seen === null) {
      const seen = new Map<string, number>();
      for await (const chat of this.client.chats.list()) seen.set(chat.id, chat.last_seq);
      this.#seen = seen;
    }
    const { url, ticket } = await this.client.ticket();
    if (this.#stopped) return;
    const socket = new WebSocket(`${url}?ticket=${ticket}`);
    this.#socket = socket;
    const frames: Frame[] = [];
    const [opened, arrived] = [new Pause(), new Pause()];
    let heard = Date.now();
    let lost: Error | null = null;
    const lose = (reason: string): void => {
      lost ??= new Unreachable(reason);
      opened.wake();
      arrived.wake();
    };
    this.#lose = lose;
    socket.onopen = () => opened.wake();
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
      await opened.wait();
      if (lost === null) {
        if (this.#shown !== null) this.showing(this.#shown);
        if (this.#chatId !== undefined) yield* this.#missed(this.#chatId);
        else for await (const { id, last_seq } of this.client.chats.list()) {
          if (last_seq > (this.#seen.get(id) ?? 0)) yield* this.#missed(id);
        }
        if (lost === null) yield { type: "connected" };
      }
      for (;;) {
        for (let frame = frames.shift(); frame; frame = frames.shift()) yield* this.#handle(frame);
        if (lost !== null) throw lost as Error;
        await arrived.wait();
      }
    } finally {
      clearInterval(timer);
      this.#socket = null;
      this.#lose = () => undefined;
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
    else if (type === "delta" && agent) {
      yield* this.#drafts.add(chatId, agent, frame.n ?? 0, frame.text ?? "");
    } else if (type === "retract" && agent) yield* this.#drafts.void(chatId, agent);
    else if (type !== "pong") {
      const ended = type === "run" && (frame.status === "done" || frame.status === "failed");
      if (ended && agent) yield* this.#drafts.void(chatId, agent, ended);
      yield { type: "frame", frame };
    }
  }

  async *#missed(chatId: string): AsyncGenerator<LiveEvent> {
    const after = this.#seen?.get(chatId) ?? 0;
    try {
      for await (const message of this.client.messages.list(chatId, after)) yield* this.#report(message);
    } catch (error) {
      // A chat that the person has left is no lost connection.
      if (!(error instanceof ApiError) || error.status !== NOT_FOUND) throw error;
    }
  }

  *#report(message: Message): Generator<LiveEvent> {
    if (message.seq <= (this.#seen?.get(message.chat_id) ?? 0)) return;
    yield* this.#drafts.void(message.chat_id, message.sender as Author, true);
    this.#seen?.set(message.chat_id, message.seq);
    yield { type: "message", message };
  }
}
