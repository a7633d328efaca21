// The panel of the chat: its messages, what is told beside them, and the field to write in.
import type { Message } from "../../typescript/src/client.js";
import { el, link } from "./dom.js";
import type { SkeinChat } from "./element.js";
import { markdown } from "./markdown.js";
import type { Notice } from "./talk.js";

const LONGEST = 4_000;
const WAYS = ["https:", "tel:", "mailto:", "sms:"];
const ANNOUNCED_MS = 20_000;
const NEAR_END = 80; // pixels

export class Panel {
  readonly root: HTMLElement;
  readonly text: HTMLTextAreaElement;
  readonly #log: HTMLElement;
  readonly #body: HTMLElement;
  readonly #form: HTMLFormElement;
  readonly #menu: HTMLElement;
  readonly #title = el("h2", { id: "title" });
  readonly #asked = el("div", { class: "told", hidden: true });
  readonly #told = el("div", { class: "told", hidden: true });
  readonly #status = el("p", { class: "sr", role: "status" });
  readonly #announcer = el("div", { class: "sr", "aria-live": "polite", "aria-relevant": "additions" });
  readonly #rows = new Map<string, { of: unknown; row: HTMLElement }>();

  constructor(private readonly host: SkeinChat) {
    const { say } = host;
    this.#menu = el("button", { type: "button", class: "bare", "aria-expanded": "false", "aria-label": say("menu"),
      click: () => this.#openMenu(this.#asked.hidden) }, "\u22ef");
    const close = el("button", { type: "button", class: "bare", "aria-label": say("close"), click: () => host.close() }, "\u2715");
    this.#log = el("ol", { class: "log", role: "list", "aria-label": say("messages") });
    this.#body = el("div", { class: "body", tabindex: 0, role: "region", "aria-label": say("messages") }, this.#log);
    this.text = el("textarea", { rows: 1, maxlength: LONGEST, "aria-label": say("write"), placeholder: say("write"),
      enterkeyhint: "send", keydown: (event) => this.#key(event as KeyboardEvent) });
    this.#form = el("form", { submit: (event) => this.#submit(event) },
      this.text, el("button", { class: "own" }, say("send")));
    this.root = el("section", { class: "panel", role: "dialog", "aria-labelledby": "title", keydown: (event) => this.#escape(event as KeyboardEvent) },
      el("header", {}, this.#title, this.#menu, close), this.#asked, this.#body, this.#told, this.#form, this.#status, this.#announcer);
  }

  /** Show what there is now. */
  show(): void {
    const { talk, widget, notice, say } = this.host;
    const focused = this.focused();
    this.#title.textContent = widget?.name ?? say("loading");
    const told = notice ?? talk?.notice ?? null;
    const over = told !== null && ["ended", "erasing", "erased", "forgotten"].includes(told.word);
    const asks = this.#consent();
    this.#menu.hidden = talk === null || !talk.writer.isVisit || talk.last === 0 || over;
    this.#form.hidden = widget === null || over || (talk?.asks ?? false);
    const atEnd = this.#body.scrollHeight - this.#body.scrollTop - this.#body.clientHeight < NEAR_END;
    this.#replace(this.#log, this.#list());
    const content = [asks, told === null ? null : this.#notice(told)].filter((each) => each !== null);
    this.#told.hidden = content.length === 0;
    if (this.#told.textContent !== content.map((each) => each.textContent).join("")) this.#told.replaceChildren(...content);
    const said = told === null ? (widget === null ? say("loading") : "") : say(told.word, told.values);
    if (this.#status.textContent !== said) this.#status.textContent = said;
    if (atEnd) this.#body.scrollTop = this.#body.scrollHeight;
    if (focused !== null && !(focused.isConnected && focused.checkVisibility())) this.focus();
  }

  /** What has the focus in the panel. */
  focused(): Element | null {
    const { activeElement = null } = this.root.getRootNode() as Partial<ShadowRoot>;
    return this.root.contains(activeElement) ? activeElement : null;
  }

  /** Have a screen reader say a message once, as a whole. */
  announce(message: Message): void {
    const said = el("p", {}, `${this.#nameOf(message)}: `, ...markdown(message.choice?.question ?? message.text));
    this.#announcer.append(said);
    setTimeout(() => said.remove(), ANNOUNCED_MS);
  }

  /** Focus what the person needs first. */
  focus(): void {
    if (!this.#form.hidden) this.text.focus();
    else (this.#told.querySelector<HTMLElement>("button") ?? this.#body).focus();
  }

  // ---------------------------------------------------------------- messages

  #list(): HTMLElement[] {
    const { talk, widget, say } = this.host;
    if (widget === null) return [];
    const rows: HTMLElement[] = [];
    const add = (key: string, of: unknown, make: () => HTMLElement): void => {
      const known = this.#rows.get(key);
      const row = known !== undefined && known.of === of ? known.row : make();
      this.#rows.set(key, { of, row });
      rows.push(row);
    };
    if (widget.greeting) add("greeting", widget.greeting, () => said(widget.name, markdown(widget.greeting ?? "")));
    const isNew = talk === null || (talk.last === 0 && talk.waiting.length === 0);
    if (isNew && widget.starters.length > 0 && !(talk?.asks ?? false)) add("starters", widget, () => this.#starters(widget.starters));
    if (talk === null) return rows;
    const messages = [...talk.messages.values()].sort((one, other) => one.seq - other.seq);
    for (const message of messages) add(`${message.seq}`, message, () => this.#row(message));
    const posted = new Set(messages.map(({ client_id }) => client_id));
    for (const { clientId, text } of talk.waiting) {
      if (posted.has(clientId)) continue;
      const state = navigator.onLine && talk.notice === null ? say("sending") : say("waits");
      add(clientId, state, () => mine(text, state));
    }
    for (const [id, { name, text }] of talk.drafts) {
      add(`draft ${id}`, text, () => (text === ""
        ? el("li", { class: "meta dots" }, say("working", { name }))
        : said(say("writing", { name }), markdown(text), true)));
    }
    return rows;
  }

  #row(message: Message): HTMLElement {
    const { say } = this.host;
    if (message.kind === "deleted" || message.kind === "erased") return el("li", { class: "notice" }, say("deleted"));
    if (message.kind === "notice") return el("li", { class: "notice" }, message.text);
    if (message.sender.kind === "user") return mine(message.text, "");
    const { choice } = message;
    return said(this.#nameOf(message),
      choice ? [el("p", {}, choice.question), this.#choice(message)] : [...markdown(message.text), this.#sources(message)]);
  }

  #nameOf({ sender }: Message): string {
    const { say, widget } = this.host;
    if (sender.kind !== "team") return sender.name || (widget?.name ?? "");
    return sender.name ? `${sender.name} (${say("team")})` : say("team");
  }

  #choice(message: Message): HTMLElement {
    const { say, talk } = this.host;
    const { choice } = message;
    if (choice?.status === "expired") return el("p", { class: "meta" }, say("expired"));
    if (choice?.status !== "open") {
      const label = choice?.options.find(({ id }) => id === choice.answer?.option)?.label ?? "\u2713";
      return el("p", { class: "meta" }, say("answered", { answer: label }));
    }
    const answer = async (given: { option: string } | { text: string }): Promise<void> => {
      for (const button of buttons) button.disabled = true;
      await talk?.answer(message, given);
      for (const button of buttons) button.disabled = false;
      this.text.focus();
    };
    const field = el("textarea", { rows: 1, maxlength: LONGEST, "aria-label": choice.question });
    const buttons = choice.options.map(({ id, label }) =>
      el("button", { type: "button", click: () => answer({ option: id }) }, label));
    if (buttons.length === 0) {
      buttons.push(el("button", { type: "button", click: () => field.value.trim() && answer({ text: field.value.trim() }) }, say("send")));
    }
    return el("div", { class: "row", role: "group", "aria-label": choice.question }, choice.options.length > 0 ? null : field, buttons);
  }

  #sources({ sources }: Message): HTMLElement | null {
    const places = new Map((sources ?? []).map(({ place, url }) => [`${place} ${url}`, link(place || (url ?? ""), url ?? "")]));
    if (places.size === 0) return null;
    return el("div", { class: "meta" }, this.host.say("sources"), el("ul", {}, [...places.values()].map((each) => el("li", {}, each))));
  }

  #starters(starters: string[]): HTMLElement {
    return el("li", { class: "row" }, starters.map((text) =>
      el("button", { type: "button", click: () => this.#send(text) }, text)));
  }

  // ---------------------------------------------------------------- beside them

  /** The text of the consent before the first message; null once it is given, or without one. */
  #consent(): HTMLElement | null {
    const { talk, widget, say } = this.host;
    if (!talk || !widget?.consent || !talk.writer.isVisit) return null;
    const { text, url } = widget.consent;
    const { asks } = talk;
    if (!asks && (talk.last > 0 || talk.writer.agreed !== null)) return null;
    const agree = el("button", { type: "button", class: "own", click: () => {
      talk.agree();
      this.focus();
    } }, say("agree"));
    return el("div", { class: "consent" }, el("p", {}, text, " ", url ? link(say("privacy"), url) : null), asks ? el("div", { class: "row" }, agree) : null);
  }

  #notice({ word, values, ways = [] }: Notice): HTMLElement {
    const { host } = this;
    const over = ["ended", "erased", "forgotten"].includes(word);
    const again = ["unreachable", "unknown", "foreign"].includes(word);
    const act = el("button", { type: "button", class: over && "own", click: () => host.restart() }, host.say(over ? "start" : "again"));
    return el("div", {}, el("p", {}, host.say(word, values)),
      el("div", { class: "row" }, ways.map(({ label, url }) => link(label, url, WAYS)), over || again ? act : null));
  }

  #openMenu(open: boolean, ask: HTMLElement[] = this.#actions()): void {
    this.#asked.hidden = !open;
    this.#menu.setAttribute("aria-expanded", String(open));
    this.#asked.replaceChildren(el("div", { class: "row" }, open ? ask : []));
    (open ? this.#asked.querySelector("button") : this.#menu)?.focus();
  }

  #actions(): HTMLElement[] {
    const { host } = this;
    const actions = [["end", "endAsk", () => host.end()], ["erase", "eraseAsk", () => void host.talk?.erase()]] as const;
    return actions.map(([name, question, act]) => el("button", { type: "button", click: () => this.#openMenu(true, [
      el("p", {}, host.say(question)),
      el("button", { type: "button", click: () => this.#openMenu(false) }, host.say("keep")),
      el("button", { type: "button", class: "own", click: () => {
        this.#openMenu(false);
        act();
        this.focus();
      } }, host.say(name)),
    ]) }, host.say(name)));
  }

  // ---------------------------------------------------------------- writing

  #key(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#form.requestSubmit();
  }

  #escape(event: KeyboardEvent): void {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (this.#asked.hidden) this.host.close();
    else this.#openMenu(false);
  }

  #submit(event: Event): void {
    event.preventDefault();
    this.#send(this.text.value.trim());
  }

  #send(text: string): void {
    const { talk, preview } = this.host;
    if (text === "" || talk === null || preview !== null) return;
    talk.send(text);
    this.text.value = "";
    this.text.focus();
    this.#body.scrollTop = this.#body.scrollHeight;
  }

  /** Put rows into a list, and leave those that are there already untouched. */
  #replace(list: HTMLElement, rows: HTMLElement[]): void {
    const wanted = new Set<Node>(rows);
    for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
    rows.forEach((row, at) => {
      if (list.children[at] !== row) list.insertBefore(row, list.children[at] ?? null);
    });
  }
}

function said(name: string, content: (Node | null)[], busy = false): HTMLElement {
  return el("li", { "aria-busy": busy }, el("p", { class: "meta" }, name), el("div", { class: "bubble", dir: "auto" }, content));
}

function mine(text: string, state: string): HTMLElement {
  return el("li", { class: "mine" }, el("div", { class: "bubble", dir: "auto" }, text),
    state === "" ? null : el("p", { class: "meta" }, state));
}
