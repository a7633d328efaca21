// The element `<skein-chat widget="wgt_...">`. Loading it does nothing but define it, once the page is idle.
import { Client, type Message } from "../../typescript/src/client.js";
import { el } from "./dom.js";
import { Store } from "./store.js";
import { STYLE } from "./style.js";
import { noticeOf, Talk, type Notice } from "./talk.js";
import { Panel } from "./view.js";
import { KnownPerson, Visitor, type PublicWidget, type Writer } from "./visit.js";
import { sayingOf, WORD_ATTRIBUTES, type Say } from "./words.js";

type Token = (() => string | Promise<string>) | null;

const SCRIPT = document.currentScript as HTMLScriptElement | null;
const LOOKS = ["color", "scheme", "side"] as const;

export class SkeinChat extends HTMLElement {
  static readonly observedAttributes = ["widget", ...LOOKS, ...WORD_ATTRIBUTES];

  readonly say: Say = sayingOf(this);
  talk: Talk | null = null;
  widget: PublicWidget | null = null;
  notice: Notice | null = null;
  /** Opens with these words and looks, without any call; null for the chat itself. */
  preview: PublicWidget | null = null;
  #root: HTMLElement | null = null;
  #launcher = el("button", { type: "button", class: "launcher own", click: () => (this.isOpen ? this.close() : this.open()) });
  #panel: Panel | null = null;
  #before: HTMLElement | null = null;
  #unread = 0;
  #token: Token = null;
  #session = 0; // calls of an earlier one are dropped
  #off = new AbortController();

  connectedCallback(): void {
    const early = Object.getOwnPropertyDescriptor(this, "token"); // set before the element was defined
    delete (this as { token?: Token }).token;
    if (early !== undefined) this.token = early.value as Token;
    if (this.#root === null) {
      const shadow = this.attachShadow({ mode: "closed" });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      shadow.adoptedStyleSheets = [sheet];
      this.#root = el("div", { class: "root" }, this.#launcher);
      shadow.append(this.#root);
    }
    this.#off = new AbortController();
    const { signal } = this.#off;
    visualViewport?.addEventListener("resize", () => this.#fit(), { signal });
    visualViewport?.addEventListener("scroll", () => this.#fit(), { signal });
    document.addEventListener("visibilitychange", () => this.changed(), { signal });
    this.changed();
  }

  disconnectedCallback(): void {
    this.#off.abort();
    this.#leave();
  }

  attributeChangedCallback(name: string): void {
    if (this.#root === null) return;
    if (name === "widget") this.restart();
    else if (name.startsWith("text-")) this.#rebuild();
    this.changed();
  }

  /** A function that returns a token of the tenant's issuer for the person who is signed in; null for visitors. */
  get token(): Token { return this.#token; }

  set token(token: Token) {
    const before = this.#token;
    this.#token = token;
    if (before === token) return;
    if (token === null) this.#forget(); // signed out
    this.restart();
  }

  get isOpen(): boolean { return this.#panel !== null && !this.#panel.root.hidden; }

  open(): void {
    if (this.#root === null) return;
    if (this.isOpen) return this.#panel?.focus();
    this.#before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    if (this.#panel === null) this.#root.prepend((this.#panel = new Panel(this)).root);
    this.#panel.root.hidden = false;
    if (this.talk === null) void this.#begin();
    this.#fit();
    this.changed();
    this.#panel.focus();
    this.#tell("open");
  }

  close(): void {
    if (!this.isOpen || this.#panel === null) return;
    this.#panel.root.hidden = true;
    this.changed();
    const back = this.#before?.isConnected && this.#before !== this && this.#before !== document.body;
    (back ? this.#before : this.#launcher)?.focus();
    this.#tell("close");
  }

  /** Drop what is on the screen, and begin again. */
  restart(): void {
    this.#leave();
    if (this.isOpen) void this.#begin();
    this.changed();
  }

  /** End the visit, and remove it from this device. */
  end(): void {
    const { widget } = this;
    this.#forget();
    this.#leave();
    this.widget = widget;
    this.notice = { word: "forgotten" };
    this.changed();
  }

  // ---------------------------------------------------------------- the chat

  /** What the browser keeps of visits. */
  #store(): Store { return new Store(this.#id, this.getAttribute("remember") ?? "local"); }

  get #id(): string { return this.getAttribute("widget") ?? ""; }

  #api(): string { return this.getAttribute("api") ?? new URL(SCRIPT?.src ?? location.href).origin; }

  /** Read what the widget is, by one call, and follow the chat if there is one. */
  async #begin(): Promise<void> {
    const session = (this.#session += 1);
    try {
      const path = `/v1/widgets/${encodeURIComponent(this.#id)}/public`;
      const widget = this.preview ?? (await new Client(this.#api(), null).call<PublicWidget>("GET", path));
      if (session !== this.#session) return;
      const store = this.#token === null ? this.#store() : new Store(this.#id, "none");
      const writer: Writer = this.#token === null ? new Visitor(this.#api(), this.#id, store)
        : new KnownPerson(this.#api(), this.#token, widget);
      if (this.preview === null && !writer.isVisit) await writer.begin();
      if (session !== this.#session) return;
      this.widget = widget;
      this.notice = null;
      this.talk = new Talk(writer, store, widget, this);
      if (this.preview === null) this.talk.start();
    } catch (error) {
      if (session !== this.#session) return;
      this.notice = noticeOf(error);
      this.#tell("error", { word: this.notice.word });
    }
    this.changed();
    if (this.#panel?.focused()) this.#panel.focus();
  }

  #leave(): void {
    this.#session += 1;
    this.talk?.stop();
    this.talk = this.widget = this.notice = null;
    this.#unread = 0;
    this.#rebuild();
  }

  /** Make the panel anew, without anything of what it has shown. */
  #rebuild(): void {
    const { isOpen } = this;
    const focused = this.#panel?.focused();
    this.#panel?.root.remove();
    this.#panel = null;
    if (!isOpen || !this.isConnected) return;
    const panel = (this.#panel = new Panel(this));
    this.#root?.prepend(panel.root);
    this.changed();
    if (focused) panel.focus();
  }

  #forget(): void {
    new Visitor(this.#api(), this.#id, this.#store()).end().catch(() => undefined); // its tokens expire
  }

  arrived(message: Message): void {
    if (this.isOpen && !document.hidden) this.#panel?.announce(message);
    else this.#unread += 1;
    this.#tell("message", { seq: message.seq, from: message.sender.kind });
  }

  // ---------------------------------------------------------------- showing

  changed(): void {
    if (this.#root === null) return;
    const { isOpen, say, widget } = this;
    const seen = isOpen && !document.hidden;
    if (seen) this.#unread = 0;
    if (seen) this.talk?.markRead();
    const unread = this.#unread > 0 ? `, ${say("unread", { count: this.#unread })}` : "";
    this.#launcher.setAttribute("aria-label", say(isOpen ? "close" : "open") + unread);
    this.#launcher.setAttribute("aria-expanded", String(isOpen));
    this.#launcher.replaceChildren(isOpen ? "\u2715" : "", this.#unread > 0 ? el("span", { class: "badge" }, String(this.#unread)) : "");
    this.#root.classList.toggle("opened", isOpen);
    const [color, scheme, side] = LOOKS.map((name) => this.getAttribute(name) ?? widget?.theme[name] ?? null);
    this.#root.dataset["scheme"] = scheme ?? "auto";
    this.#root.dataset["side"] = side ?? "end";
    const own = /^#(?:[0-9a-f]{3}){1,2}$/i.test(color ?? "") ? (color ?? "") : "";
    this.#root.style.setProperty("--widget-color", own || null);
    this.#root.style.setProperty("--widget-on-color", own ? readableOn(own) : null);
    this.#panel?.show();
  }

  /** Keep the panel above the keyboard of a phone. */
  #fit(): void {
    if (!visualViewport || this.#root === null) return;
    this.#root.style.setProperty("--top", `${visualViewport.offsetTop}px`);
    this.#root.style.setProperty("--seen", `${visualViewport.height}px`);
  }

  #tell(name: string, detail: object = {}): void {
    this.dispatchEvent(new CustomEvent(`skein-${name}`, { detail, bubbles: true, composed: true }));
  }
}

/** Return black or white, whichever is easier to read on a colour such as `#0a6`. */
function readableOn(color: string): string {
  const digits = color.length === 4 ? color.replace(/[0-9a-f]/gi, "$&$&") : color;
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => (Number.parseInt(digits.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000" : "#fff";
}

function define(): void {
  if (customElements.get("skein-chat") === undefined) customElements.define("skein-chat", SkeinChat);
}

if ("requestIdleCallback" in window) requestIdleCallback(define, { timeout: 3_000 });
else setTimeout(define, 200);
