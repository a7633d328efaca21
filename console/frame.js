// The frame around every page: navigation, theme, sign-in, notices for screen readers.
import { button, el, fill } from "./dom.js";
import { themeSwitch } from "./theme.js";
import { words } from "./words.js";

export class Frame {
  /**
   * @param {Array} menu Pairs of a group and its pages, as `pages.js` has them.
   * @param {(page: object) => boolean} open Whether the person may see a page.
   * @param {() => void} signIn
   * @param {() => void} signOut
   */
  constructor(menu, open, signIn, signOut) {
    this.pages = menu.flatMap(([, pages]) => pages);
    this.open = open;
    this.main = el("main", { id: "main", tabindex: -1 });
    this.live = el("p", { class: "hidden", "aria-live": "polite", id: "announcer" });
    this.who = el("div", { class: "who" });
    this.warning = el("div", { class: "warning", role: "status" });
    this.signIn = signIn;
    this.signOut = signOut;
    this.links = new Map(this.pages.map((page) =>
      [page.name, el("a", { href: `#/${page.name}` }, words.pages[page.name].name)]));
    this.badges = new Map();
    this.groups = menu.map(([name, pages]) => this.#group(name, pages));
    // Narrow windows fold the menu behind this button; wide ones show it always.
    this.fold = el("button", { type: "button", class: "fold quiet", "aria-expanded": "false", "aria-controls": "menu",
      on: { click: () => this.#unfold(this.fold.getAttribute("aria-expanded") !== "true") } }, words.menu.fold);
    const skip = el("a", { class: "skip", href: "#main", on: { click: (event) => {
      event.preventDefault();
      this.main.focus();
    } } }, words.skip);
    document.body.replaceChildren(
      skip,
      el("header", {},
        el("p", { class: "brand" }, words.product),
        this.fold,
        el("div", { class: "menu", id: "menu" },
          el("nav", { "aria-label": words.navigation }, this.groups),
          el("div", { class: "tools" }, this.who, themeSwitch()))),
      this.warning,
      this.main,
      this.live,
    );
  }

  /** A list of links, with the name of its group. */
  #group(name, pages) {
    const links = (given) => el("ul", given, pages.map((page) => el("li", {}, this.links.get(page.name), this.#badge(page.name))));
    if (name === null) return links({ class: "group" });
    return el("div", { class: "group" }, el("p", { class: "group-name", id: `menu-${name}` }, words.menu[name]),
      links({ "aria-labelledby": `menu-${name}` }));
  }

  /** A place for a number beside a link. */
  #badge(name) {
    const made = el("span", { class: "badge", hidden: true });
    this.badges.set(name, made);
    return made;
  }

  /** Show how much waits on a page, beside its link. */
  showWaiting(name, count) {
    const badge = this.badges.get(name);
    badge.hidden = count === 0;
    fill(badge, count, el("span", { class: "hidden" }, ` ${words.menu.waits}`));
  }

  #unfold(open) { this.fold.setAttribute("aria-expanded", String(open)); }

  /** Show who is signed in, and links to the pages that they may see. */
  showSession(session) {
    for (const page of this.pages) this.links.get(page.name).parentElement.hidden = !this.open(page);
    for (const group of this.groups) group.hidden = [...group.querySelectorAll("li")].every((each) => each.hidden);
    fill(this.warning);
    const name = session.claims.name ?? session.claims.sub ?? "";
    if (session.token === null) {
      fill(this.who, el("button", { type: "button", class: "quiet", on: { click: this.signIn } }, words.session.signIn));
    } else {
      fill(this.who, el("span", {}, name),
        el("button", { type: "button", class: "quiet", on: { click: this.signOut } }, words.session.signOut));
    }
  }

  /** Mark the page's link, and set the title of the window. */
  showPage(name) {
    this.#unfold(false);
    for (const [each, link] of this.links) {
      if (each === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = words.title(words.pages[name]?.name ?? words.errors.heading);
  }

  /** Show a warning above the page, with a way to sign in again. */
  warn(text) {
    fill(this.warning, el("p", { class: "notice" }, text, " ", button(words.session.signIn, this.signIn, { class: "link" })));
  }

  /** Say a text to screen readers. */
  announce(text) {
    this.live.textContent = text;
  }

  /** Move the focus to the heading, so that a screen reader reads it; not away from the page. */
  focusHeading() {
    const heading = this.main.querySelector("h1");
    if (heading === null || this.main.contains(document.activeElement)) return;
    heading.tabIndex = -1;
    heading.focus();
  }
}

/** A panel in place of a page. */
export function panel(heading, ...children) {
  return el("div", { class: "panel problem", role: "alert" }, el("h1", {}, heading), children);
}

/** A panel that says what failed. */
export function problem(error, again) {
  return panel(words.errors.heading, el("p", {}, error.message), again ? button(words.retry, again) : null);
}

/** A panel that asks the person to sign in. */
export function signInPanel(session, config, failure, signIn) {
  const canSignIn = config.issuer !== "" && config.client_id !== "";
  const told = failure ?? (session.ended ? words.session.expired : null);
  return el("div", { class: "panel sign-in" },
    el("h1", {}, words.session.heading),
    told === null ? null : el("p", { role: "alert", class: "notice" }, told),
    el("p", {}, canSignIn ? words.session.why : words.session.notSetUp),
    canSignIn ? button(words.session.signIn, signIn, { class: "primary" }) : null);
}
