const FIRST_MS = 1_000;
export const LONGEST_MS = 60_000;

/** Pauses that double up to a minute, with jitter, so that clients do not retry together. */
export class Backoff {
  #next = FIRST_MS;

  reset(): void {
    this.#next = FIRST_MS;
  }

  /** Return the next pause in milliseconds. */
  pause(): number {
    const pause = this.#next * (0.5 + Math.random() / 2);
    this.#next = Math.min(2 * this.#next, LONGEST_MS);
    return pause;
  }
}

/** A pause that `wake` ends early. */
export class Pause {
  #end: () => void = () => undefined;
  #woken = false;

  wake(): void {
    this.#woken = true;
    this.#end();
  }

  /** Wait for some milliseconds, or without them until `wake`. */
  async wait(milliseconds?: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    if (!this.#woken) {
      await new Promise<void>((end) => {
        this.#end = end;
        if (milliseconds !== undefined) timer = setTimeout(end, milliseconds);
      });
    }
    clearTimeout(timer);
    this.#woken = false;
  }
}
