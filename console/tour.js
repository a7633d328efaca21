// The tour through the recorded day of a local stack: its steps, and where the person is.
import { button, el, fill } from "./dom.js";
import { localCall } from "./local.js";
import { giveReason } from "./reason.js";
import { words } from "./words.js";

const KEY = "skein-tour"; // in the session storage, because a sign-in loads the page again
const HINT = (tenant) => `operator@${tenant}`;
const said = words.tour;

export class Tour {
  #session;
  #day = { state: "off", tenant: "", steps: [] };

  constructor(session) { this.#session = session; }

  get state() { return this.#day.state; }
  get steps() { return this.#day.steps; }

  /** Read the recorded day; steps lead to private content, for which the tour is the reason. */
  async load() {
    this.#day = await localCall("GET", "day");
    for (const { subject } of this.steps) if (subject !== null) giveReason(subject, said.reason);
  }

  /** Go to a step, as the operator of the recorded day. */
  async go(index) {
    sessionStorage.setItem(KEY, String(index));
    const place = `#/${this.steps[index].path}`;
    if (this.#session.claims.tenant === this.#day.tenant) location.hash = place;
    else await this.#session.signIn(place, HINT(this.#day.tenant));
  }

  /** Return the bar above a page with the step; null outside of the tour. */
  bar(place) {
    const index = Number(sessionStorage.getItem(KEY) ?? -1), step = this.steps[index];
    if (step === undefined || this.#session.claims.tenant !== this.#day.tenant || place[0] === "tour") return null;
    const bar = el("section", { class: "card tour", "aria-label": said.label });
    const last = index + 1 === this.steps.length;
    const next = last ? el("a", { href: "#/tour", on: { click: () => this.end() } }, said.done)
      : button(said.next, () => this.go(index + 1), { class: "primary" });
    fill(bar,
      el("p", {}, el("strong", {}, said.step(index + 1, this.steps.length, step.title))), el("p", {}, step.text),
      el("p", { class: "row" }, next,
        location.hash === `#/${step.path}` ? null : el("a", { href: `#/${step.path}` }, said.back),
        button(said.end, () => { this.end(); bar.remove(); }, { class: "quiet" })));
    return bar;
  }

  end() { sessionStorage.removeItem(KEY); }
}
