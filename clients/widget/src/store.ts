// What the widget keeps in the browser: nothing before the visitor writes, and each message that waits
// under a key of its own, so that tabs never overwrite each other's.
import type { Entry } from "../../typescript/src/outbox.js";

/** Values of one widget in the storage of the page's origin. */
export class Store {
  readonly #area: Record<string, string>;
  readonly #prefix: string;

  /** @param remember `local`, `session`, or `none` for as long as the page is open. */
  constructor(widget: string, remember: string) {
    this.#prefix = `skein:${widget}:`;
    this.#area = areaOf(remember);
  }

  get<T>(name: string): T | null {
    try {
      return JSON.parse(this.#area[this.#prefix + name] ?? "null") as T | null;
    } catch {
      return null; // something else wrote it
    }
  }

  /** Keep a value. Throws if the storage is full. */
  set(name: string, value: unknown): void { this.#area[this.#prefix + name] = JSON.stringify(value); }

  remove(name: string): void { delete this.#area[this.#prefix + name]; }

  /** Return the names that begin with a text, sorted. */
  names(start = ""): string[] {
    const own = Object.keys(this.#area).filter((key) => key.startsWith(this.#prefix + start));
    return own.map((key) => key.slice(this.#prefix.length)).sort();
  }

  clear(): void { for (const name of this.names()) this.remove(name); }

  /** Call with each change that another tab makes. */
  watch(changed: () => void, signal: AbortSignal): void {
    addEventListener("storage", ({ key }) => {
      if (key === null || key.startsWith(this.#prefix)) changed();
    }, { signal });
  }
}

const OUT = "out:";

/** A message that waits to be sent. */
export type Waiting = Pick<Entry, "clientId" | "text">;

/** The messages that wait, of all tabs, oldest first. */
export class WaitingMessages {
  constructor(private readonly store: Store) {}

  get all(): Waiting[] {
    return this.store.names(OUT).map((name) => this.store.get<Waiting>(name)).filter((entry) => entry !== null);
  }

  /** Keep a message. Throws if the storage is full. */
  add(text: string): void {
    const clientId = crypto.randomUUID();
    this.store.set(`${OUT}${String(Date.now()).padStart(15, "0")}:${clientId}`, { clientId, text });
  }

  /** Drop messages, which were posted or refused. */
  remove(done: readonly Waiting[]): void {
    for (const name of this.store.names(OUT)) {
      if (done.some(({ clientId }) => name.endsWith(clientId))) this.store.remove(name);
    }
  }
}

/** Do something while no other tab does it; without Web Locks, at once. */
export function exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
  return "locks" in navigator ? (navigator.locks.request(name, work) as Promise<T>) : work();
}

function areaOf(remember: string): Record<string, string> {
  try {
    if (remember === "local") return localStorage;
    if (remember === "session") return sessionStorage;
  } catch {
    // The browser blocks the storage of this page.
  }
  return {};
}
