// The storage of an outbox in a file, for Node; browsers have `WebStorage`.
import { open, readFile, rename } from "node:fs/promises";
import type { Entry, Storage } from "./outbox.js";

/** Waiting messages in a file that only its owner can read. One outbox at a time may use it. */
export class FileStorage implements Storage {
  constructor(private readonly path: string) {}

  /** Return the messages of the file; none if it does not exist. */
  async load(): Promise<readonly Entry[]> {
    try {
      return JSON.parse(await readFile(this.path, "utf8")) as Entry[];
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return [];
      throw error;
    }
  }

  /** Replace the file; a crash leaves the old file or the new one. */
  async save(entries: readonly Entry[]): Promise<void> {
    const draft = `${this.path}.new`;
    const file = await open(draft, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify(entries));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.path);
  }
}
