// A chat as the widget follows it: messages, drafts, what waits to be sent, and what went wrong.
import { Backoff, Pause } from "../../typescript/src/backoff.js";
import { ApiError, type Message, type Page } from "../../typescript/src/client.js";
import { Live, type LiveEvent } from "../../typescript/src/live.js";
import { Outbox, type Storage } from "../../typescript/src/outbox.js";
import type { SkeinChat } from "./element.js";
import { exclusively, WaitingMessages, type Store, type Waiting } from "./store.js";
import { isOver, type PublicWidget, type Way, type Writer } from "./visit.js";
import type { Word } from "./words.js";

const NEWEST = 100;
const POLL_MS = 4_000;
const AGAIN_MS = 5_000;

/** What the person is told beside the messages. */
export interface Notice {
  word: Word;
  values?: Record<string, string>;
  ways?: Way[];
}

/** Return what to tell of a failed call. */
export function noticeOf(error: unknown): Notice {
  if (!(error instanceof ApiError)) return { word: navigator.onLine ? "unreachable" : "offline" };
  if (error.status === 429) return { word: "busy", ways: (error.details["ways"] ?? []) as Way[] };
  if (error.status === 404) return { word: "unknown" };
  if (isOver(error)) return { word: "ended" };
  if (error.status === 401) return { word: "signedOut" };
  return { word: error.status === 403 ? "foreign" : "unreachable" };
}

export class Talk {
  readonly messages = new Map<number, Message>();
  /** By the id of the agent, the words that it is writing; "" while it works on them. */
  readonly drafts = new Map<string, { name: string; text: string }>();
  notice: Notice | null = null;
  connected = false;
  readonly #waiting: WaitingMessages;
  readonly #end = new AbortController();
  readonly #outbox = new Pause();
  readonly #again = new Pause(); // of the live channel
  #live: Live | null = null;
  #following: string | null = null;
  #read = 0; // up to this message, all were read
  #seen = 0;
  #loaded = false; // so that what arrives now is new
  #erases = false;

  constructor(
    readonly writer: Writer,
    private readonly store: Store,
    private readonly widget: PublicWidget,
    private readonly chat: SkeinChat,
  ) {
    this.#waiting = new WaitingMessages(store);
    writer.renewed = () => this.#live?.stop();
    const { signal } = this.#end;
    addEventListener("online", () => this.#wake(), { signal });
    addEventListener("offline", () => this.#say({ word: "offline" }), { signal });
    store.watch(() => this.#synchronize(), signal);
    const timer = setInterval(() => void this.#poll(), POLL_MS);
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  get waiting(): Waiting[] { return this.#waiting.all; }

  get last(): number { return Math.max(0, ...this.messages.keys()); }

  /** Whether the person must agree before anything else. */
  get asks(): boolean {
    const required = this.writer.isVisit && (this.widget.consent?.required ?? false);
    return required && this.writer.agreed !== this.widget.consent_version;
  }

  /** Follow the chat, if there is one, and send what waits. */
  start(): void {
    void this.#deliver();
    this.#synchronize();
  }

  /** End all work; nothing is changed elsewhere. */
  stop(): void {
    this.#end.abort();
    this.#live?.stop();
    this.#again.wake();
    this.#outbox.wake();
  }

  /** Keep a message, and have it sent; works offline. */
  send(text: string): void {
    try {
      this.#waiting.add(text);
    } catch (error) {
      return this.#say({ word: "refused", values: { text, reason: String(error) } }); // a full storage
    }
    this.chat.changed();
    this.#outbox.wake();
  }

  /** The person agrees to the consent. */
  agree(): void {
    this.writer.agreed = this.widget.consent_version;
    this.#synchronize();
  }

  /** Answer a question, and read what has become of it. */
  async answer(message: Message, answer: { option: string } | { text: string }): Promise<void> {
    try {
      await this.writer.client.choices.answer(message.chat_id, { seq: message.seq, ...answer });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) this.#failed(error, new Backoff());
    }
    await this.#fetch({ after: message.seq - 1, limit: 1 }).catch(() => undefined); // the next reading shows it
  }

  /** Tell the API that the person has seen all messages. */
  markRead(): void {
    const { last } = this;
    if (this.#following === null || last <= this.#seen) return;
    this.#seen = last;
    this.writer.client.messages.markRead(this.#following, last).catch(() => undefined); // the next one counts
  }

  /** Erase the chat, and say when that is done. */
  async erase(): Promise<void> {
    if (this.#erases) return;
    this.#erases = true;
    this.#live?.stop();
    this.#clear({ word: "erasing" });
    for (const backoff = new Backoff(); !this.#end.signal.aborted; ) {
      try {
        if (await this.writer.erase()) break;
        await this.#again.wait(AGAIN_MS);
      } catch (error) {
        if (this.writer.erasing && error instanceof ApiError && error.status === 401) break; // after an hour
        const pause = this.#failed(error, backoff);
        if (pause === undefined) return;
        await this.#again.wait(pause);
      }
    }
    if (this.#end.signal.aborted) return;
    this.store.clear();
    this.#say({ word: "erased" });
  }

  // ---------------------------------------------------------------- sending

  /** Send what waits, one tab at a time, until `stop`. */
  async #deliver(): Promise<void> {
    const backoff = new Backoff();
    while (!this.#end.signal.aborted) {
      let pause: number | undefined;
      try {
        if (this.waiting.length > 0 && !this.writer.erasing && !this.asks) await exclusively(`skein-send:${this.widget.id}`, () => this.#flush());
        backoff.reset();
      } catch (error) {
        pause = this.#failed(error, backoff);
      }
      this.chat.changed();
      await this.#outbox.wait(pause);
    }
  }

  async #flush(): Promise<void> {
    if (this.waiting.length === 0 || this.#end.signal.aborted) return; // another tab has sent them
    const chatId = await this.writer.begin();
    const entries = this.waiting.map((entry) => ({ ...entry, chatId }));
    const storage: Storage = {
      load: async () => entries,
      save: async (left) => this.#waiting.remove(entries.filter((entry) => !left.includes(entry))),
    };
    const outbox = await Outbox.open(this.writer.client, storage, {
      onPosted: (message) => {
        this.writer.started();
        this.notice = null;
        this.#loaded ||= this.#following === null; // the first message of a chat
        this.#add(message);
        void this.#follow(chatId);
      },
      onRefused: ({ text }, { detail }) => this.#say({ word: "refused", values: { text, reason: detail } }),
    });
    await outbox.flush();
  }

  /** Note why a call failed; return the pause before the next attempt, or none if a person must act. */
  #failed(error: unknown, backoff: Backoff): number | undefined {
    const refused = error instanceof ApiError ? error : null;
    if (refused !== null && refused.details["consent_version"] !== undefined) {
      setTimeout(() => this.#end.signal.aborted || this.chat.restart(), AGAIN_MS); // the text has changed
      return undefined;
    }
    if (refused?.status === 401 && !isOver(error) && this.writer.expire()) return backoff.pause();
    this.#say(noticeOf(error));
    if (isOver(error)) this.stop();
    if (isOver(error) || refused?.status === 403 || refused?.status === 404) return undefined;
    return Math.max(backoff.pause(), 1000 * (refused?.retryAfterSeconds ?? 0));
  }

  // ---------------------------------------------------------------- reading

  /** Follow the chat over the live channel until `stop`; the first call counts. */
  async #follow(chatId: string): Promise<void> {
    if (this.#following !== null) return;
    this.#following = chatId;
    const { client } = this.writer;
    const backoff = new Backoff();
    while (!this.#end.signal.aborted && !this.writer.erasing) {
      try {
        if (!this.#loaded) await this.#fetch({});
        this.#loaded = true;
        this.connected = false;
        this.drafts.clear();
        this.#live = new Live(client, { chatId, seen: { [chatId]: this.#read } });
        for await (const event of this.#live.events()) this.#hear(event);
      } catch (error) {
        if (this.#end.signal.aborted) return;
        const pause = this.#failed(error, backoff);
        if (pause === undefined) return;
        await this.#again.wait(pause);
      }
    }
  }

  #hear(event: LiveEvent): void {
    if (event.type === "message") {
      this.#add(event.message);
      this.#read = event.message.seq;
    } else if (event.type === "draft") {
      if (event.text === "") this.drafts.delete(event.agent.id);
      else this.drafts.set(event.agent.id, { name: event.agent.name, text: event.text });
    } else if (event.type === "frame") {
      const { type, status, agent, message } = event.frame;
      if (type === "changed" && message) this.messages.set(message.seq, message);
      if (type === "run" && agent) this.#ran(agent, status);
    } else {
      this.connected = event.type === "connected";
      if (this.connected) this.notice = null;
      else {
        this.drafts.clear();
        void this.#poll();
      }
    }
    this.chat.changed();
  }

  #ran(agent: { id: string; name: string }, status?: string): void {
    if (status === "working" && !this.drafts.has(agent.id)) this.drafts.set(agent.id, { name: agent.name, text: "" });
    if (status === "done" || status === "failed") this.drafts.delete(agent.id);
    if (status === "failed") this.#say({ word: "silent" });
  }

  /** Read the newest messages while the live channel is not there. */
  async #poll(): Promise<void> {
    if (this.connected || this.#following === null || this.writer.erasing || document.hidden) return;
    try {
      await this.#fetch({ after: this.#read });
      if (this.notice?.word === "lost" || this.notice?.word === "offline") this.#say(null);
    } catch (error) {
      if (!(error instanceof ApiError)) this.#say({ word: navigator.onLine ? "lost" : "offline" });
    }
  }

  async #fetch(query: { after?: number; limit?: number }): Promise<void> {
    const path = `/v1/chats/${encodeURIComponent(this.#following ?? "")}/messages`;
    const page = await this.writer.client.call<Page<Message>>("GET", path, undefined, { limit: NEWEST, ...query });
    for (const message of page.items) this.#add(message);
    if (query.limit === undefined) this.#read = Math.max(this.#read, page.items.at(-1)?.seq ?? 0);
  }

  #add(message: Message): void {
    const isNew = this.#loaded && !this.messages.has(message.seq);
    this.messages.set(message.seq, message);
    this.drafts.delete(message.sender.id);
    if (isNew && message.sender.kind !== "user") this.chat.arrived(message);
    this.chat.changed();
  }

  #clear(notice: Notice): void {
    this.messages.clear();
    this.drafts.clear();
    this.#say(notice);
  }

  #say(notice: Notice | null): void {
    this.notice = notice;
    this.chat.changed();
  }

  #wake(): void {
    this.#say(null);
    this.#outbox.wake();
    this.#again.wake();
    void this.#poll();
  }

  /** Another tab has written, begun or ended the visit. */
  #synchronize(): void {
    const { chatId } = this.writer;
    if (this.writer.erasing) void this.erase();
    else if (chatId === null && this.#following !== null) {
      this.stop();
      this.#clear({ word: "forgotten" });
    } else if (chatId !== null && !this.asks) void this.#follow(chatId);
    this.#outbox.wake();
    this.chat.changed();
  }
}
