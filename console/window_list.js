// A long list of which the page holds only a window: the nodes near what the person sees.
import { el } from "./dom.js";

const MAX_NODES = 120, STEP = 40, NEAR_PX = 600, END_PX = 60;

export class WindowList {
  #items = [];
  #nodes = new Map();
  #start = 0;
  #end = 0;
  #loading = false;
  #complete = false;
  #follows = true; // whether the person saw the end before something grew
  #render;
  #older;

  /**
   * @param {string} label What a screen reader calls the list.
   * @param {(item: object) => HTMLElement} render Makes the `<li>` of an item.
   * @param {() => Promise<object[]>} older Returns the items before the first; none at the start.
   */
  constructor(label, render, older = async () => []) {
    this.#render = render;
    this.#older = older;
    this.list = el("ol", { class: "window" });
    this.root = el("div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": label, on: { scroll: () => this.#scrolled() } },
      this.list);
    // A picture makes its node higher when it has loaded; `load` does not bubble.
    this.root.addEventListener("load", () => { if (this.#follows) this.toEnd(); }, true);
  }

  get items() { return this.#items; }

  /** Replace all items, ordered and with unique keys; show the newest ones. */
  reset(items) {
    this.#items = [...items];
    this.#complete = false;
    this.#nodes.clear();
    this.list.replaceChildren();
    this.toEnd();
  }

  /** Add items at the end; follow them if the person sees the end. */
  append(items) {
    const follow = this.atEnd;
    this.#items.push(...items);
    if (follow) this.toEnd();
    else this.#draw();
    return follow;
  }

  /** Replace the item with the same key, if there is one. */
  update(item) {
    const place = this.#items.findIndex((each) => each.key === item.key);
    if (place < 0) return false;
    const follow = this.atEnd;
    this.#items[place] = item;
    const node = this.#nodes.get(item.key);
    if (node) {
      const made = this.#render(item);
      node.replaceWith(made);
      this.#nodes.set(item.key, made);
    }
    if (follow) this.toEnd();
    return true;
  }

  /** Remove an item. */
  remove(key) {
    const place = this.#items.findIndex((each) => each.key === key);
    if (place < 0) return;
    this.#items.splice(place, 1);
    if (place < this.#end) this.#end -= 1;
    if (place < this.#start) this.#start -= 1;
    this.#draw();
  }

  /** Whether the person sees the newest item. */
  get atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.root;
    return this.#end >= this.#items.length && scrollHeight - scrollTop - clientHeight <= END_PX;
  }

  /** Show the newest item. */
  toEnd() {
    this.#end = this.#items.length;
    this.#start = Math.max(0, this.#end - MAX_NODES);
    this.#draw();
    this.root.scrollTop = this.root.scrollHeight;
    this.#follows = true;
  }

  #scrolled() {
    this.#follows = this.atEnd;
    const { scrollHeight, scrollTop, clientHeight } = this.root;
    if (scrollTop < NEAR_PX) this.#up();
    else if (scrollHeight - scrollTop - clientHeight < NEAR_PX) this.#down();
  }

  #down() {
    if (this.#end >= this.#items.length) return;
    this.#end = Math.min(this.#items.length, this.#end + STEP);
    this.#start = Math.max(0, this.#end - MAX_NODES);
    this.#keepPlace(() => this.#draw());
  }

  async #up() {
    if (this.#start > 0) {
      this.#start = Math.max(0, this.#start - STEP);
      this.#end = Math.min(this.#items.length, this.#start + MAX_NODES);
      this.#keepPlace(() => this.#draw());
      return;
    }
    if (this.#loading || this.#complete) return;
    this.#loading = true;
    try {
      const found = await this.#older();
      this.#complete = found.length === 0;
      this.#items.unshift(...found);
      this.#start += found.length;
      this.#end += found.length;
      if (found.length) await this.#up();
    } finally {
      this.#loading = false;
    }
  }

  /** Change the nodes; what the person sees stays where it is. */
  #keepPlace(change) {
    const top = this.root.getBoundingClientRect().top;
    const seen = [...this.list.children].find((node) => node.getBoundingClientRect().bottom > top);
    const before = seen?.getBoundingClientRect().top;
    change();
    if (seen?.isConnected) this.root.scrollTop += seen.getBoundingClientRect().top - before;
  }

  #draw() {
    const shown = this.#items.slice(this.#start, this.#end);
    const keys = new Set(shown.map((item) => item.key));
    for (const [key, node] of this.#nodes) {
      if (keys.has(key)) continue;
      node.remove();
      this.#nodes.delete(key);
    }
    let next = this.list.firstChild;
    for (const item of shown) {
      let node = this.#nodes.get(item.key);
      if (!node) {
        node = this.#render(item);
        this.#nodes.set(item.key, node);
      }
      if (node === next) next = next.nextSibling;
      else this.list.insertBefore(node, next);
    }
  }
}
