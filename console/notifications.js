// The notifications on the phone of a local person, while the app is in the background.
import { timeOf } from "./conversation.js";
import { el, fill } from "./dom.js";
import { notifications } from "./local.js";
import { words } from "./words.js";

const PAUSE_MS = 1_000, PLATFORM = "fcm";
const said = words.pages.phone;

export class Notifications {
  #context;
  #api;
  #token;
  #timer = null;
  #shown = "";

  /**
   * @param {object} context As pages get it.
   * @param {Api} api The API of the person.
   * @param {string} me The id of the person.
   * @param {(hidden: boolean) => void} onhide Called when the app goes to the background or comes back.
   */
  constructor(context, api, me, onhide) {
    this.#context = context;
    this.#api = api;
    this.#token = `console-phone-of-${[...me].map((each) => each.codePointAt(0).toString(16)).join("-")}`;
    const box = el("input", { type: "checkbox", on: { change: () => onhide(box.checked) } });
    this.list = el("ul", { class: "items", "aria-label": said.notifications });
    this.empty = el("p", { class: "hint" }, said.quiet);
    this.root = el("section", {}, el("label", {}, box, " ", said.background), this.empty, this.list);
  }

  /** Register the phone, and look at what it shows now and again. */
  async start() {
    this.#timer = setInterval(() => this.#look(), PAUSE_MS);
    await this.#api.call("PUT", "/v1/me/devices", { token: this.#token, platform: PLATFORM }).catch((error) => {
      this.empty.textContent = error.message;
    });
  }

  stop() { clearInterval(this.#timer); }

  async #look() {
    const { items } = await notifications().catch(() => ({ items: [] }));
    const mine = items.filter((each) => each.token === this.#token);
    const shown = JSON.stringify(mine);
    if (mine.length === 0 || shown === this.#shown) return;
    this.#shown = shown;
    this.empty.hidden = true;
    fill(this.list, mine.map((each) => el("li", {}, each.text, " ",
      el("time", { class: "meta", datetime: each.at }, timeOf(each.at)))));
    this.#context.announce(mine[0].text);
  }
}
