// The keys of the desk, and the dialog that shows them. They do nothing while the person writes.
import { el } from "../dom.js";
import { words } from "../words.js";

const FIELDS = "input, textarea, select";
const said = words.pages.desk;
let on = true; // until the page is loaded again

export class DeskKeys {
  #acts;
  #listener = (event) => this.#pressed(event);

  /** @param {Record<string, () => void>} acts What each key does; those of `said.keys` are shown. */
  constructor(acts) {
    this.#acts = { ...acts, "?": () => this.dialog.showModal() };
    const active = el("input", { type: "checkbox", id: "desk-keys", checked: on, on: { change: () => { on = active.checked; } } });
    this.dialog = el("dialog", { "aria-labelledby": "desk-keys-title" },
      el("div", { class: "stack" }, el("h2", { id: "desk-keys-title" }, said.keysTitle),
        el("dl", { class: "keys" }, said.keys.map(([key, meaning]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)))),
        el("div", { class: "check" }, active, el("label", { for: "desk-keys" }, said.keysOn)),
        el("div", {}, el("button", { type: "button", on: { click: () => this.dialog.close() } }, said.close))));
    this.button = el("button", { type: "button", class: "quiet", "aria-haspopup": "dialog", on: { click: () => this.dialog.showModal() } }, said.keysTitle);
  }

  start() { document.addEventListener("keydown", this.#listener); }

  stop() { document.removeEventListener("keydown", this.#listener); }

  #pressed(event) {
    if (!on || this.dialog.open || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = keyOf(event), act = this.#acts[key];
    if (act === undefined || (event.target.closest(FIELDS) !== null && key !== "Escape")) return;
    event.preventDefault();
    act();
  }
}

/** The key of an event; arrows count in the queue alone, since they scroll elsewhere. */
function keyOf({ key, target }) {
  if (target.closest(".queue") === null) return key;
  return { ArrowDown: "j", ArrowUp: "k" }[key] ?? key;
}
