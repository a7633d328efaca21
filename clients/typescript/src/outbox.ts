import { Backoff, Pause } from "./backoff.js";
import { ApiError, Client, Unreachable, type Message } from "./client.js";

/** A message that waits; posting its `clientId` again makes no second message. */
export interface Entry {
  chatId: string;
  clientId: string;
  text: string;
  replyTo?: number;
}

/** Where the waiting messages are kept, oldest first, so that they survive the end of the app. */
export interface Storage {
  load(): Promise<readonly Entry[]>;
  save(entries: readonly Entry[]): Promise<void>;
}

/** The storage of an outbox failed; `cause` says why. A message that was posted may wait still. */
export class StorageError extends Error {
  override name = "StorageError";
}

/** Waiting messages that end with the app. */
export class MemoryStorage implements Storage {
  #entries: readonly Entry[] = [];

  async load(): Promise<readonly Entry[]> {
    return this.#entries;
  }

  async save(entries: readonly Entry[]): Promise<void> {
    this.#entries = entries;
  }
}

/**
 * Waiting messages in `localStorage`, or in anything with `getItem` and `setItem`. One outbox at a
 * time may use a key: open it under a Web Lock if the app runs in several tabs.
 */
export class WebStorage implements Storage {
  constructor(
    private readonly store: Pick<globalThis.Storage, "getItem" | "setItem">,
    private readonly key = "skein-outbox",
  ) {}

  async load(): Promise<readonly Entry[]> {
    return JSON.parse(this.store.getItem(this.key) ?? "[]") as Entry[];
  }

  async save(entries: readonly Entry[]): Promise<void> {
    this.store.setItem(this.key, JSON.stringify(entries));
  }
}

export interface OutboxOptions {
  /** Called with each message that was accepted. */
  onPosted?: (message: Message) => void;
  /** Called with each message that the API will never accept, and the error. */
  onRefused?: (entry: Entry, error: ApiError) => void;
  /** Called when the token was refused; messages keep waiting until `wake`. */
  onSignIn?: (error: ApiError) => void;
}

/**
 * Posts messages in the order of each chat, until the API has accepted each one. A message is saved
 * before it is sent, and forgotten after its response. It keeps its `clientId`, so a lost response
 * leads to no second message.
 */
export class Outbox {
  #entries: readonly Entry[] = [];
  #work: Promise<unknown> = Promise.resolve(); // changes of the storage, one at a time
  #flushes: Promise<unknown> = Promise.resolve(); // one at a time
  #pause = new Pause();
  #forced = new Pause(); // of `Retry-After`, which only `stop` ends
  #stopped = false;

  private constructor(
    private readonly client: Client,
    private readonly storage: Storage,
    private readonly options: OutboxOptions,
  ) {}

  /** Open an outbox with the messages that still wait in its storage. */
  static async open(client: Client, storage: Storage, options: OutboxOptions = {}): Promise<Outbox> {
    const outbox = new Outbox(client.withRetries(0), storage, options);
    outbox.#entries = await storage.load();
    return outbox;
  }

  /** The messages that the API has not accepted yet, oldest first. */
  get waiting(): readonly Entry[] {
    return this.#entries;
  }

  /** Save a message, and have it sent; works offline. */
  async add(chatId: string, text: string, replyTo?: number): Promise<Entry> {
    const clientId = crypto.randomUUID();
    const entry = replyTo === undefined ? { chatId, clientId, text } : { chatId, clientId, text, replyTo };
    await this.#change((entries) => [...entries, entry]);
    this.#pause.wake();
    return entry;
  }

  /**
   * Try again now, for example because the device is online or the token is new. A pause that the
   * API asks for (`Retry-After`) is kept.
   */
  wake(): void {
    this.#pause.wake();
  }

  /** End `run`; messages that wait stay in the storage. */
  stop(): void {
    this.#stopped = true;
    this.#pause.wake();
    this.#forced.wake();
  }

  /** Send what waits until `stop`, with growing pauses after failures. Throws what a callback throws. */
  async run(): Promise<void> {
    const backoff = new Backoff();
    while (!this.#stopped) {
      let pause: number | undefined;
      try {
        await this.flush();
        backoff.reset();
      } catch (error) {
        if (error instanceof ApiError && error.needsSignIn) this.options.onSignIn?.(error);
        else if (error instanceof Unreachable) pause = backoff.pause();
        else if (error instanceof ApiError) {
          const atLeast = 1000 * (error.retryAfterSeconds ?? 0);
          pause = Math.max(backoff.pause() - atLeast, 0);
          if (atLeast > 0 && !this.#stopped) await this.#forced.wait(atLeast);
        } else if (error instanceof StorageError) {
          console.error("skein-client:", error.message, error.cause);
          pause = backoff.pause();
        } else throw error;
      }
      if (!this.#stopped) await this.#pause.wait(pause);
    }
  }

  /**
   * Send what waits once. A chat whose message fails for now keeps the rest of its messages. Throws
   * the error of such a message with the longest `retryAfterSeconds`.
   */
  flush(): Promise<void> {
    const done = this.#flushes.then(() => this.#flush());
    this.#flushes = done.catch(() => undefined); // `done` reports the failure to its caller
    return done;
  }

  async #flush(): Promise<void> {
    const delayed = new Map<string, ApiError>();
    for (const entry of this.#entries) {
      if (delayed.has(entry.chatId)) continue;
      const { chatId, clientId: client_id, text, replyTo: reply_to } = entry;
      const message = reply_to === undefined ? { text, client_id } : { text, client_id, reply_to };
      let posted: Message;
      try {
        posted = await this.client.messages.send(chatId, message);
      } catch (error) {
        if (!(error instanceof ApiError) || error.needsSignIn) throw error;
        if (error.isTemporary) delayed.set(chatId, error);
        else {
          await this.#forget(entry);
          this.options.onRefused?.(entry, error);
        }
        continue;
      }
      await this.#forget(entry);
      this.options.onPosted?.(posted);
    }
    const seconds = (error: ApiError): number => error.retryAfterSeconds ?? 0;
    const [longest] = [...delayed.values()].sort((one, other) => seconds(other) - seconds(one));
    if (longest) throw longest;
  }

  #forget(entry: Entry): Promise<void> {
    return this.#change((entries) => entries.filter((each) => each.clientId !== entry.clientId));
  }

  #change(change: (entries: readonly Entry[]) => readonly Entry[]): Promise<void> {
    const done = this.#work.then(async () => {
      const changed = change(this.#entries);
      try {
        await this.storage.save(changed);
      } catch (error) {
        throw new StorageError("the outbox could not save its messages", { cause: error });
      }
      this.#entries = changed;
    });
    this.#work = done.catch(() => undefined); // `done` reports the failure to its caller
    return done;
  }
}
