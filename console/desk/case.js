// A case: one chat on the desk, its request, and what the operator can do there.
import { deskActions, deskPath } from "../desk_actions.js";
import { el, fill } from "../dom.js";
import { HeldChat } from "../held_chat.js";
import { chatName, copyId } from "../names.js";
import { action, card, durationOf, facts, outcome, part, when } from "../parts.js";
import { askReason, reasonFor } from "../reason.js";
import { Transcript } from "../transcript.js";
import { words } from "../words.js";
import { following } from "./following.js";
import { peopleCards } from "./person.js";
import { isOwn, reasonOf, stateOf } from "./queue.js";

const NOT_FOUND = 404, FORBIDDEN = 403;
const said = words.pages.desk;

export class DeskCase {
  #context;
  #id;
  #places; // heading, middle and side
  #shown = null; // the entry that is shown, as JSON
  #held = null;
  #end = () => {};

  constructor(context, id, places) {
    this.#context = context;
    this.#id = id;
    this.#places = places;
  }

  async start() {
    await this.#look(null);
    if (document.activeElement === document.body) this.#places.middle.querySelector("form.reason input")?.focus();
    this.#end = following(() => this.#look(null));
  }

  stop() {
    this.#end();
    this.#held?.stop();
  }

  // ------------------------------------------------------------------ what the keys do

  /** Take the chat over, or ask for what that needs first. */
  takeOver() {
    const take = this.#places.middle.querySelector("form.take");
    if (take !== null) take.requestSubmit();
    else this.#places.middle.querySelector("form.reason input")?.focus();
  }

  reply() { this.#held?.text.focus(); }

  chooseAnswer() { this.#held?.canned.begin(); }

  handBack() { this.#held?.handBack(); }

  // ------------------------------------------------------------------ what is shown

  /** Read the chat's state, and show the chat if the state has changed; `told` says what happened. */
  async #look(told) {
    if (this.#held !== null && told === null) return; // the held chat tells of its end
    const entry = await this.#context.api.get(deskPath(this.#id)).catch((error) => {
      if (error.status !== NOT_FOUND) throw error;
      return null;
    });
    const shown = JSON.stringify(entry);
    if (shown === this.#shown && told === null) return;
    this.#shown = shown;
    await this.#show(entry, told);
  }

  async #show(entry, told) {
    const { heading, middle, side } = this.#places;
    this.#held?.stop();
    this.#held = null;
    const notice = told === null ? null : el("p", { class: "answered", role: "status" }, told);
    heading.textContent = entry === null ? said.oneChat : chatName(entry);
    if (entry === null) {
      fill(side);
      fill(middle, notice, card(said.notHere, el("p", { class: "hint" }, said.notHereHint), el("p", {}, copyId(this.#id))), await this.#offer(null));
      return;
    }
    const own = isOwn(entry, this.#context);
    const request = card(said.request, this.#facts(entry, await this.#agents(entry)), summaryOf(entry));
    const people = entry.members.filter((each) => each.kind === "user");
    fill(side, request, await peopleCards(this.#context.api, people.map((each) => each.id)));
    if (own) await this.#hold(people, notice, request, told !== null);
    else await this.#wait(entry, notice, request);
  }

  /** Show the chat of the operator who holds it. */
  async #hold(people, notice, request, focus) {
    const names = people.map((each) => each.name).filter(Boolean);
    const held = this.#held = new HeldChat(this.#context, this.#id, names, (told) => this.#look(told));
    request.append(held.summary);
    fill(this.#places.middle, notice, held.root);
    await held.start();
    if (focus) held.text.focus();
  }

  /** Show a chat that waits, or that a colleague holds. */
  async #wait(entry, notice, request) {
    if (entry.holder === null) request.append(el("div", {}, this.#dismissal(entry)));
    fill(this.#places.middle, notice,
      entry.holder === null ? null : el("p", { class: "notice", role: "alert" }, said.taken(entry.holder.name)), await this.#offer(entry));
  }

  /** The words of the chat and ways to step in; for words, and of a chat that may be private, a reason comes first. */
  async #offer(entry) {
    const subject = `chat/${this.#id}`, text = el("div", { class: "stack" }), steps = el("div", { class: "stack" });
    const known = reasonFor(subject), held = (entry?.holder ?? null) !== null;
    const step = (reason) => {
      if (!held) fill(steps, card(said.stepIn, deskActions(this.#context, this.#id, reason, entry !== null, (told) => this.#look(told))));
    };
    const read = async (reason) => {
      await this.#read(text, reason);
      step(reason);
    };
    if (known !== null && entry !== null) {
      await read(known);
    } else {
      const ask = askReason(said.why, subject, read, said.read, known ?? (entry === null ? "" : said.because(said.reasons[entry.reason_code])));
      ask.classList.add("reason");
      fill(text, card(said.before, el("p", { class: "hint" }, said.beforeHint), ask));
      if (known !== null || entry?.visibility === "open") step(known);
    }
    return [text, steps];
  }

  /** Show the messages, unless the operator or the tenant's operators may not read them. */
  async #read(place, reason) {
    try {
      await new Transcript(this.#context.api, this.#id, reason).start(place, () => null);
    } catch (error) {
      if (error.status !== FORBIDDEN) throw error;
      fill(place, el("p", { class: "notice", role: "alert" }, words.pages.transcripts.forbidden, " ", error.message));
    }
  }

  /** A button that takes a waiting chat from the desk, because nobody is needed any more. */
  #dismissal(entry) {
    const place = outcome();
    const dismiss = async () => {
      await this.#context.api.call("DELETE", deskPath(this.#id), { dismiss: true });
      await this.#look(said.dismissed);
    };
    return [action(said.dismiss, dismiss, place, { "aria-label": said.dismissOf(chatName(entry)) }), place];
  }

  #facts(entry, names) {
    return facts([
      [said.state, stateOf(entry, this.#context)], [said.reason, reasonOf(entry, names)], [said.since, when(entry.since)],
      [said.takenAt, entry.taken_at && when(entry.taken_at)], [said.answered, entry.answered_at && answerTime(entry)],
      [said.agents, entry.members.filter((each) => each.kind === "agent").map((each) => each.name).join(", ")],
    ]);
  }

  /** The names of agents by id, if an agent has asked. */
  async #agents({ agent_id: id }) {
    if (id === null) return new Map();
    return new Map([[id, await this.#context.api.get(`/v1/agents/${part(id)}`).then((agent) => agent.name, () => words.run.gone)]]);
  }
}

/** What the agent says the matter is, which the API shows to the holder only. */
function summaryOf({ summary, reason }) {
  if (!summary && !reason) return null;
  return el("div", { class: "stack" }, el("h3", {}, said.summary),
    reason ? el("p", { class: "text" }, reason) : null, summary ? el("blockquote", {}, summary) : null);
}

/** The time from the request to the team's first message. */
function answerTime({ since, answered_at: at }) { return durationOf((new Date(at) - new Date(since)) / 1000); }
