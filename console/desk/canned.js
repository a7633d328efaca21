// Canned answers in a box: chosen from a list, or by their name after a slash.
import { el, fill, set } from "../dom.js";
import { more } from "../parts.js";
import { words } from "../words.js";

const TYPED = /(?<=^|\s)\/([a-z0-9_-]*)$/; // before the cursor
const MOST = 200, SHOWN = 8, LIST = "canned-answers";
const said = words.desk;

/** Read the canned answers of the tenant. */
export function cannedAnswers(api) { return api.items("/v1/canned-answers", MOST); }

/** A text in which `{name}` stands for the people of a chat. */
export function filled(text, people) {
  const names = new Intl.ListFormat("en").format(people);
  return names === "" ? text.replace(/ ?\{name\}/g, "") : text.replaceAll("{name}", names);
}

export class Canned {
  #box;
  #people;
  #answers = [];
  #matches = []; // that the box's last word fits
  #active = 0;

  /**
   * @param {HTMLTextAreaElement} box The box that a chosen text is written to.
   * @param {string[]} people The names of the people in the chat.
   */
  constructor(box, people) {
    this.#box = box;
    this.#people = people;
    this.list = el("ul", { class: "canned", role: "listbox", id: LIST, "aria-label": said.canned, hidden: true });
    this.all = el("div", {});
    for (const [name, value] of [["aria-autocomplete", "list"], ["aria-controls", LIST], ["aria-haspopup", "listbox"]]) set(box, name, value);
    box.addEventListener("input", () => this.#offer());
    box.addEventListener("blur", () => this.#close());
  }

  async start(api) {
    this.#answers = await cannedAnswers(api);
    const rows = this.#answers.map((each) => el("li", {}, el("button", { type: "button", class: "quiet", on: { click: () => this.#insert(each) } },
      el("strong", {}, `/${each.name}`), " ", each.text)));
    fill(this.all, more(said.canned, rows.length === 0 ? el("p", { class: "empty" }, said.noCanned) : el("ul", { class: "canned" }, rows),
      el("p", {}, el("a", { href: "#/desk/answers" }, said.editCanned))));
  }

  /** Begin to choose: write a slash into the box. */
  begin() {
    const before = this.#box.value.slice(0, this.#box.selectionStart);
    this.#box.focus();
    this.#replace(0, before === "" || /\s$/.test(before) ? "/" : " /");
    this.#offer();
  }

  /** Take a key of the box while answers are offered; return whether it was one. */
  key(event) {
    const act = { ArrowDown: () => this.#mark(1), ArrowUp: () => this.#mark(-1), Enter: () => this.#choose(), Tab: () => this.#choose(), Escape: () => this.#close() }[event.key];
    if (this.list.hidden || act === undefined || event.shiftKey || event.isComposing) return false;
    event.preventDefault();
    act();
    return true;
  }

  #typed() { return TYPED.exec(this.#box.value.slice(0, this.#box.selectionStart)); }

  #offer() {
    const found = this.#typed();
    this.#matches = found === null ? [] : this.#answers.filter(({ name }) => name.startsWith(found[1])).slice(0, SHOWN);
    this.#active = 0;
    this.#show();
  }

  #mark(by) {
    this.#active = (this.#active + by + this.#matches.length) % this.#matches.length;
    this.#show();
  }

  #show() {
    this.list.hidden = this.#matches.length === 0;
    fill(this.list, this.#matches.map((each, at) => el("li", {
      role: "option", id: `${LIST}-${at}`, "aria-selected": String(at === this.#active),
      on: { pointerdown: (event) => {
        event.preventDefault(); // the box keeps the focus
        this.#insert(each);
      } },
    }, el("strong", {}, `/${each.name}`), " ", each.text)));
    set(this.#box, "aria-activedescendant", this.list.hidden ? null : `${LIST}-${this.#active}`);
  }

  #choose() { this.#insert(this.#matches[this.#active]); }

  #close() {
    this.#matches = [];
    this.#show();
  }

  /** Write an answer at the cursor, in place of what was typed of its name. */
  #insert(answer) {
    this.#replace(this.#typed()?.[0].length ?? 0, filled(answer.text, this.#people));
    this.#close();
    const fold = this.all.querySelector("details");
    if (fold !== null) fold.open = false;
    this.#box.focus();
  }

  #replace(typed, text) {
    const at = this.#box.selectionStart;
    this.#box.setRangeText(text, at - typed, this.#box.selectionEnd, "end");
    this.#box.dispatchEvent(new Event("input", { bubbles: true })); // the words are unsaved now
  }
}
