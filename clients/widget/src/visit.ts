// Who writes: a visitor, whose visit begins with the first message, or a person whom the page knows.
import { ApiError, Client } from "../../typescript/src/client.js";
import type { components } from "../../typescript/src/schema.js";
import { exclusively, type Store } from "./store.js";

const FRESH_MS = 50 * 60_000; // of the hour for which a token is valid
const ENDED = "visit_ended";

export type Way = components["schemas"]["Way"];
export type PublicWidget = components["schemas"]["PublicWidget"];
type NewVisit = components["schemas"]["VisitResource"];
interface KeptVisit extends Pick<NewVisit, "token" | "renewal" | "chat_id" | "started"> {
  /** When the token is renewed, by the clock of this device. */
  until: number;
  consent: number | null;
  erasing?: boolean;
}

/** The person who writes, and their chat. */
export abstract class Writer {
  abstract readonly client: Client;
  /** The chat; null before the first message. */
  abstract readonly chatId: string | null;
  /** Whether the chat is a visit, which the person can end and erase. */
  abstract readonly isVisit: boolean;
  /** The version of the consent to which the person agreed. */
  agreed: number | null = null;
  /** Called when there is another token: what was opened with the one before ends soon. */
  renewed: () => void = () => undefined;

  /** Return the chat to write to. Throws an ApiError or Unreachable. */
  abstract begin(): Promise<string>;

  get erasing(): boolean { return false; }

  /** The chat has a message. */
  started(): void {}

  /** A token was refused: use it no more. Return whether there can be another without the page. */
  expire(): boolean { return false; }

  /** Erase the chat; this call and later ones say whether it is erased. */
  async erase(): Promise<boolean> { return false; }
}

/** Return whether a call failed because the visit is over. */
export function isOver(error: unknown): boolean {
  return error instanceof ApiError && error.code === ENDED;
}

/** A visitor, known by their visit alone. */
export class Visitor extends Writer {
  readonly isVisit = true;
  readonly client: Client;

  constructor(private readonly api: string, private readonly widget: string, private readonly store: Store) {
    super();
    this.client = new Client(api, () => this.#token());
    this.agreed = this.#kept?.consent ?? null;
  }

  get #kept(): KeptVisit | null { return this.store.get<KeptVisit>("visit"); }

  get chatId(): string | null {
    const kept = this.#kept;
    return kept?.started ? kept.chat_id : null;
  }

  override get erasing(): boolean { return this.#kept?.erasing ?? false; }

  async begin(): Promise<string> {
    const kept = this.#kept;
    if (kept !== null && (kept.started || kept.until > Date.now())) return kept.chat_id;
    // The first message may have arrived without its response: then the renewal finds its visit.
    return (await this.#visit(kept?.renewal)).chat_id;
  }

  override started(): void {
    if (!this.#kept?.started) this.#keep({ started: true });
  }

  override expire(): boolean {
    this.#keep({ until: 0 });
    return true;
  }

  /** Forget the visit at once, and have its tokens refused. */
  async end(): Promise<void> {
    const kept = this.#kept;
    this.store.clear();
    if (kept === null || !kept.started) return;
    const { token } = kept.until > Date.now() ? kept : await this.#ask(kept.renewal);
    await new Client(this.api, token).call("POST", "/v1/visit/end");
  }

  override async erase(): Promise<boolean> {
    const method = this.erasing ? "GET" : "DELETE";
    const { status } = await this.client.call<{ status: string }>(method, "/v1/visit");
    this.#keep({ erasing: true });
    return status === "erased";
  }

  #keep(change: Partial<KeptVisit>): void {
    const kept = this.#kept;
    if (kept !== null) this.store.set("visit", { ...kept, ...change });
  }

  /** Return a token that is valid. Two tabs renew it once; the other one finds the new token. */
  async #token(): Promise<string> {
    return exclusively(`skein-visit:${this.widget}`, async () => {
      const kept = this.#kept;
      if (kept === null) throw new ApiError(401, ENDED, "there is no visit");
      if (kept.until > Date.now() || kept.erasing) return kept.token;
      return (await this.#visit(kept.renewal)).token;
    });
  }

  #ask(spent: string | undefined): Promise<NewVisit> {
    const body = { renewal: spent, consent: this.agreed ?? undefined };
    const path = `/v1/widgets/${encodeURIComponent(this.widget)}/visits`;
    return new Client(this.api, null, undefined, 0).call("POST", path, body);
  }

  async #visit(spent?: string): Promise<KeptVisit> {
    const { token, renewal, chat_id, started } = await this.#ask(spent).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      this.store.remove("visit");
      throw new ApiError(401, ENDED, error.detail);
    });
    const kept = { token, renewal, chat_id, started, consent: this.agreed, until: Date.now() + FRESH_MS };
    this.store.set("visit", kept);
    if (spent !== undefined) this.renewed();
    return kept;
  }
}

/** A person whom the page knows: a token of the tenant's issuer opens that person's own chat. */
export class KnownPerson extends Writer {
  readonly client: Client;
  readonly isVisit = false;
  chatId: string | null = null;

  constructor(api: string, token: () => string | Promise<string>, private readonly widget: PublicWidget) {
    super();
    this.client = new Client(api, token);
  }

  async begin(): Promise<string> {
    const members = [{ kind: "agent" as const, id: this.widget.agent_id }];
    const body = { kind: "direct" as const, client_id: `web:${this.widget.id}`, members };
    this.chatId ??= (await this.client.call<{ id: string }>("POST", "/v1/chats", body)).id;
    return this.chatId;
  }
}
