// The time machine of a local stack: its clock, what will fire, and what has fired.
import { button, el, field, fill } from "../dom.js";
import { dueEvents, localCall } from "../local.js";
import { durationOf, part } from "../parts.js";
import { words } from "../words.js";

const HOUR = 3600, DAY = 24 * HOUR, WEEK = 7 * DAY;
const LOOK_MS = 1_000;
const said = words.pages.time;
const moment = new Intl.DateTimeFormat(undefined, {
  weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
});

async function show(main) {
  const due = await dueEvents();
  const machine = new TimeMachine();
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about), machine.root);
  machine.start(due);
  return () => machine.stop();
}

class TimeMachine {
  #offset = 0; // milliseconds that the stack's clock is ahead of this browser's
  #events = [];
  #timer = null;
  #ended = false;

  constructor() {
    this.now = el("time", {});
    this.ahead = el("dd", {});
    this.status = el("p", { role: "status", class: "state" });
    this.time = el("input", { type: "datetime-local", step: 1, required: true });
    this.controls = el("fieldset", { "aria-label": said.turn },
      el("div", { class: "row" },
        this.#by(said.hour, HOUR), this.#by(said.day, DAY), this.#by(said.week, WEEK),
        button(said.next, () => this.#toNext())),
      el("form", { class: "row", on: { submit: (event) => this.#toTime(event) } },
        field(said.to, this.time), el("button", {}, said.turnTo)),
      button(said.reset, () => this.#reset()));
    this.coming = el("ol", { class: "events" });
    this.more = el("p", { class: "hint", hidden: true }, said.more);
    this.fired = el("div", {}, el("p", { class: "empty" }, said.notTurned));
    this.root = el("div", { class: "cards" },
      el("section", { class: "card wide" }, el("h2", {}, said.clock),
        el("dl", { class: "figures" },
          el("div", {}, el("dt", {}, said.now), el("dd", {}, this.now)),
          el("div", {}, el("dt", {}, said.ahead), this.ahead)),
        this.controls, this.status),
      el("section", { class: "card wide", "aria-label": said.coming }, el("h2", {}, said.coming), this.coming, this.more,
        el("div", {}, button(said.again, () => this.#look()))),
      el("section", { class: "card wide", "aria-label": said.fired }, el("h2", {}, said.fired), this.fired));
  }

  start(due) {
    this.#show(due);
    this.#timer = setInterval(() => this.#tick(), LOOK_MS);
  }

  stop() {
    this.#ended = true;
    clearInterval(this.#timer);
  }

  // ------------------------------------------------------------------ showing

  #tick() {
    const now = new Date(Date.now() + this.#offset);
    this.now.setAttribute("datetime", now.toISOString());
    this.now.textContent = moment.format(now);
  }

  #show({ now, offset_seconds: ahead, items, more }) {
    this.#offset = new Date(now) - Date.now();
    this.ahead.textContent = durationOf(ahead);
    this.#events = items;
    this.more.hidden = !more;
    fill(this.coming, items.length === 0 ? el("li", { class: "empty" }, said.nothing)
      : items.map((event) => eventOf(event, new Date(event.at) - new Date(now))));
    this.#tick();
  }

  #showFired(before, { now, done }) {
    const fired = before.filter((event) => new Date(event.at) <= new Date(now));
    const counts = Object.entries(done?.jobs ?? {}).filter(([, count]) => count > 0);
    fill(this.fired,
      fired.length === 0 ? el("p", {}, said.noneFired) : el("ol", { class: "events" }, fired.map((event) => eventOf(event))),
      counts.length === 0 ? null : el("h3", {}, said.jobs),
      counts.length === 0 ? null : el("dl", { class: "figures" },
        counts.map(([name, count]) => el("div", {}, el("dt", {}, name), el("dd", {}, count)))));
  }

  async #look() {
    const due = await dueEvents();
    if (!this.#ended) this.#show(due);
    return due;
  }

  // ------------------------------------------------------------------ turning

  #by(label, seconds) {
    return button(label, () => this.#turn({ advance_seconds: seconds }));
  }

  #toNext() {
    const now = Date.now() + this.#offset;
    const next = this.#events.find((event) => new Date(event.at) > now);
    if (next === undefined) {
      this.status.textContent = said.nothing;
      return null;
    }
    return this.#turn({ advance_seconds: (new Date(next.at) - now) / 1000 + 1 });
  }

  #toTime(event) {
    event.preventDefault();
    const seconds = (new Date(this.time.value) - Date.now() - this.#offset) / 1000;
    if (seconds > 0) return this.#turn({ advance_seconds: seconds });
    this.status.textContent = said.past;
    return null;
  }

  #reset() { return this.#turn({ reset: true }); }

  /** Turn or reset the clock; meanwhile, show where it is. */
  async #turn(change) {
    const before = this.#events;
    this.controls.disabled = true;
    this.status.textContent = said.turning;
    const looking = setInterval(() => this.#look().catch(() => {}), LOOK_MS); // the call below tells of errors
    try {
      const done = await localCall("POST", "clock", change);
      this.#showFired(change.reset ? [] : before, done);
      this.status.textContent = change.reset ? said.isReset : said.turned(durationOf(done.done.turned_seconds));
    } catch (error) {
      this.status.textContent = error.message;
    } finally {
      clearInterval(looking);
      this.controls.disabled = false;
    }
    await this.#look().catch((error) => { this.status.textContent = error.message; });
  }
}

/** An event and what it will do; with the milliseconds until it fires, if it has not. */
function eventOf(event, wait = null) {
  const kind = said.kinds[event.kind] ?? event.kind;
  return el("li", { "data-kind": event.kind },
    el("p", { class: "row start" },
      el("strong", {}, event.name === null ? kind : `${kind}: ${event.name}`),
      el("time", { datetime: event.at }, moment.format(new Date(event.at))),
      wait === null ? null : el("span", { class: "badge soft" }, wait > 0 ? said.in(durationOf(wait / 1000)) : said.due)),
    el("p", {}, said.does[event.kind]),
    event.instruction === null ? null : el("blockquote", { class: "clip" }, event.instruction),
    el("p", { class: "row start" }, linksOf(event)));
}

/** Links to the agent, the chat, the person, the run and the erasure of an event. */
function linksOf({ kind, id, agent_id: agent, agent_name: agentName, chat_id: chat, chat_name: chatName, user_id: user, user_name: userName }) {
  const tab = kind === "plan" ? "/plans" : kind === "fading" ? "/memories" : "";
  return [
    [agent, `#/agent/${part(agent)}${tab}`, () => said.agent(agentName || words.run.gone)],
    [chat, `#/transcripts/${part(chat)}`, () => said.chat(chatName || words.names.unnamed)],
    [user, `#/people/${part(user)}`, () => said.person(userName || words.names.unnamed)],
    [kind === "run", `#/why/run/${part(id)}`, () => said.run],
    [kind === "erasure", `#/people/${part(user)}/erasure/${part(id)}`, () => said.erasure],
  ].filter(([there]) => there).map(([, href, name]) => el("a", { href }, name()));
}

export default { name: "time", needs: "local", show };
