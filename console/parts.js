// Parts that several pages show: cards, figures, tables, tabs, forms, times and bars.
import { withQuery } from "./api.js";
import { el, fill, set, shape } from "./dom.js";
import { words } from "./words.js";

const PAGE = 50;
const HOUR = 3_600, DAY = 24 * HOUR;
const said = words.parts;
const CENT = 0.01;
const count = new Intl.NumberFormat();
const cents = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const micros = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });
const tenths = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Write a number as people read it. */
export function number(value) { return count.format(value); }

/** Write an amount of money; null without prices. */
export function amount(money) {
  return money ? said.amount((money.amount >= CENT || money.amount === 0 ? cents : micros).format(money.amount), money.currency)
    : said.noPrices;
}

/** A time of the API; a dash for none. */
export function when(text, format = moment) {
  return text ? el("time", { datetime: text }, format.format(new Date(text))) : said.none;
}

/** A time of the API as a `datetime-local` has it: in the browser's time zone. */
export function localTime(text) {
  if (!text) return "";
  const at = new Date(text);
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Return the time between two times of the API, in words. */
export function took(from, to) {
  if (!from || !to) return said.none;
  const milliseconds = new Date(to) - new Date(from);
  return milliseconds < 1000 ? said.milliseconds(milliseconds) : said.seconds(tenths.format(milliseconds / 1000));
}

/** Return how long it takes until a time of the API, in words: "in 2 hours". */
export function waitUntil(text) {
  const seconds = (new Date(text) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? UNITS.at(-1);
  return relative.format(Math.round(seconds / size), unit);
}

/** Return a duration, given in seconds, in its two largest units. */
export function durationOf(seconds) {
  const whole = Math.round(seconds);
  const parts = [[words.time.days, Math.floor(whole / DAY)], [words.time.hours, Math.floor((whole % DAY) / HOUR)],
    [words.time.minutes, Math.floor((whole % HOUR) / 60)], [words.time.seconds, whole % 60]];
  const shown = parts.filter(([, count]) => count > 0).slice(0, 2).map(([unit, count]) => unit(count));
  return shown.join(" ") || words.time.seconds(0);
}

/** Return the path of a part of an address. */
export function part(text) { return encodeURIComponent(text); }

/** A section with a heading. */
export function card(title, ...children) {
  return el("section", { class: "card" }, el("h2", {}, title), children);
}

/** Names and values; rows without a value are left out. */
export function facts(rows) {
  return el("dl", { class: "facts" }, rows.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** What a page shows that needs an agent, if there is none. */
export function noAgent() {
  return el("p", { class: "empty" }, said.noAgent, " ", el("a", { href: "#/agent" }, said.createAgent));
}

/** A table that scrolls by itself if it is wider than the window. */
export function table(caption, heads, rows, none = said.nothing) {
  if (rows.length === 0) return el("p", { class: "empty" }, none);
  return el("div", { class: "table", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map(([first, ...rest]) =>
        el("tr", {}, el("th", { scope: "row" }, first), rest.map((cell) => el("td", {}, cell)))))));
}

/** Links to the parts of a page. */
export function tabs(label, links, current) {
  return el("nav", { class: "tabs wrap", "aria-label": label }, links.map(([name, href, text]) =>
    el("a", { href, "aria-current": name === current ? "true" : null }, text)));
}

/** A place that tells screen readers what an action has done. */
export function outcome() { return el("p", { class: "outcome", role: "status" }); }

/**
 * A button whose action returns what to say (a text or nodes), or nothing; a failure is said, too.
 *
 * @param {HTMLElement} place Where to say it: an `outcome`.
 */
export function action(text, run, place, given = {}) {
  const made = el("button", { type: "button", ...given }, text);
  made.addEventListener("click", () => attempt(made, run, place));
  return made;
}

/** A form whose action returns what to say, or nothing; a failure is said, too. */
export function form(fields, label, run, given = {}) {
  const place = outcome(), submit = el("button", { class: "primary" }, label);
  const made = el("form", { ...given, on: {
    input: ({ target }) => { if (target.tagName === "TEXTAREA") set(made, "data-unsaved", target.value === "" ? null : "yes"); },
    submit: async (event) => {
      event.preventDefault();
      if (await attempt(submit, run, place)) set(made, "data-unsaved", null);
    },
  } }, fields, submit, place);
  return made;
}

/** Whether the page has a form with words that would be lost. */
export function hasUnsaved() { return document.querySelector("main form[data-unsaved]") !== null; }

/** Do something, and say what has come of it; return whether it has worked. */
async function attempt(control, run, place) {
  const title = control.closest(".card, .column")?.querySelector("h2")?.textContent;
  control.disabled = true;
  fill(place);
  try {
    fill(place, (await run()) ?? "");
    if (!place.isConnected) announce(said.done);
    return true;
  } catch (error) {
    place.textContent = error.message;
    return false;
  } finally {
    control.disabled = false;
    if (document.activeElement === document.body) refocus(control, title);
  }
}

/** Give back the focus that a disabled control has lost; without the control, to its card's heading. */
function refocus(control, title) {
  if (control.isConnected) {
    control.focus();
    return;
  }
  const headings = [...document.querySelectorAll("main h1, main h2")];
  const heading = headings.find((each) => each.textContent === title) ?? headings[0];
  if (heading === undefined) return;
  heading.tabIndex = -1;
  heading.focus();
}

/** Say a text to screen readers. */
export function announce(text) { document.getElementById("announcer").textContent = text; }

/** A part that the person can open. */
export function more(title, ...children) {
  return el("details", { class: "more" }, el("summary", {}, title), children);
}

/** A part that is read when the person opens it. */
export function lazy(title, read, given = {}) {
  const body = el("div", { class: "stack" });
  let begun = false;
  return el("details", { class: "more", ...given, on: { toggle: async ({ target }) => {
    if (!target.open || begun) return;
    begun = true;
    fill(body, el("p", { class: "hint" }, words.loading));
    try {
      fill(body, await read());
    } catch (error) {
      begun = false;
      fill(body, el("p", { class: "notice", role: "alert" }, error.message));
    }
  } } }, el("summary", {}, title), body);
}

/** Text as it is, in lines; long texts scroll by themselves. */
export function verbatim(text, label) {
  return el("pre", { tabindex: 0, role: "region", "aria-label": label }, text);
}

/**
 * A bar for a number; the numbers stand beside it in words, so it is decoration.
 *
 * @param {number} value The length, and `most` that of the whole bar.
 * @param {number|null} marked How much of the value is drawn full; the rest is then an outline.
 */
export function bar(value, most, marked = null) {
  const share = (each) => `${most > 0 ? (100 * each) / most : 0}%`;
  return shape("svg", { class: "bar", width: "100%", height: 10, "aria-hidden": "true" },
    shape("rect", { class: "ground", width: "100%", height: 10, rx: 3 }),
    marked === null ? shape("rect", { class: "value", width: share(value), height: 10, rx: 3 })
      : shape("rect", { class: "fresh", width: share(value), y: 1, height: 8, rx: 3 }),
    marked === null ? [] : shape("rect", { class: "value", width: share(marked), height: 10, rx: 3 }));
}

/** A list of an API's items in pages, with a button for the next one. */
export async function paged(api, path, render, none = said.nothing) {
  const list = el("ul", { class: "items" }), place = outcome();
  let cursor = null;
  const more = action(said.more, read, place, { hidden: true });
  async function read() {
    const page = await api.get(withQuery(path, { limit: PAGE, cursor }));
    cursor = page.next_cursor;
    more.hidden = cursor === null;
    list.append(...page.items.map((item) => el("li", {}, render(item))));
  }
  await read();
  if (list.children.length === 0 && cursor === null) return none instanceof Node ? none : el("p", { class: "empty" }, none);
  return el("div", { class: "stack" }, list, more, place);
}

/** Show the first items of a list as one table, with a button for more. */
export async function listTable(api, place, path, query, tableOf) {
  const items = [], failure = outcome();
  async function read(cursor) {
    const page = await api.get(withQuery(path, { ...query, limit: PAGE, cursor }));
    items.push(...page.items);
    fill(place, tableOf(items),
      page.next_cursor === null ? null : action(said.more, () => read(page.next_cursor), failure), failure);
  }
  await read(null);
}
