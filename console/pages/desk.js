// The desk: the chats that wait for a person of the team or that one holds, and one of them.
import { approvalsCard, showApproval } from "../approvals.js";
import { deskActions, deskPath } from "../desk_actions.js";
import { el, fill } from "../dom.js";
import { HeldChat } from "../held_chat.js";
import { chatName, copyId } from "../names.js";
import { action, card, durationOf, facts, outcome, part, table, when } from "../parts.js";
import { askReason, reasonFor } from "../reason.js";
import { words } from "../words.js";

const APPROVALS = "approvals"; // in place of a chat's id
const LOOK_MS = 5_000, MOST_AGENTS = 1_000, NOT_FOUND = 404;
const said = words.pages.desk;

async function show(main, [chatId, id], context) {
  if (chatId === APPROVALS) return showApproval(main, context, id);
  if (chatId === undefined) return showQueue(main, context);
  const place = el("div", { class: "stack" });
  fill(main, el("p", {}, el("a", { href: "#/desk" }, said.back)),
    el("h1", {}, said.oneChat), el("p", {}, copyId(chatId)), place);
  const chat = new DeskChat(context, chatId, place);
  await chat.start();
  return () => chat.stop();
}

// ---------------------------------------------------------------------- the queue

async function showQueue(main, context) {
  const { api } = context;
  const names = new Map((await api.items("/v1/agents", MOST_AGENTS)).map((agent) => [agent.id, agent.name]));
  const place = el("div", { class: "stack" });
  let before = null;

  async function look() {
    const [{ items }, approvals] = await Promise.all([api.get("/v1/desk"), api.get("/v1/approvals")]);
    const shown = JSON.stringify([items, approvals.items]);
    if (shown === before) return;
    const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    fill(place, approvalsCard(approvals.items, names), queue(items, names, context, look));
    if (focused !== null) place.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
    if (before !== null) {
      context.announce(said.waiting(items.filter((each) => each.state === "waiting").length, approvals.items.length));
      context.count();
    }
    before = shown;
  }
  await look();
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about), place,
    el("p", { class: "hint" }, said.others, " ", el("a", { href: "#/transcripts" }, said.toChats)));
  return following(look);
}

/** Look again and again while the person can see the page, since each look is audited; return what ends it. */
function following(look) {
  const timer = setInterval(() => {
    if (!document.hidden) look().catch(() => {}); // the next look tries again
  }, LOOK_MS);
  return () => clearInterval(timer);
}

/** The chats on the desk, in the order of the API: those that wait first, each group oldest first. */
function queue(items, names, context, look) {
  return table(said.queue, [said.chat, said.state, said.since, said.reason, said.answered, said.action],
    items.map((entry) => [
      [el("a", { href: `#/desk/${part(entry.chat_id)}` }, chatName(entry)),
        " ", entry.visibility === "private" ? el("span", { class: "badge soft" }, said.private) : null],
      stateOf(entry, context), when(entry.since), reasonOf(entry, names), answerTime(entry), entry.holder === null ? dismissal(entry, context, look) : "",
    ]), said.none);
}

/** A button that takes a waiting chat from the desk, because nobody is needed any more. */
function dismissal(entry, { api }, done) {
  const place = outcome();
  const dismiss = async () => {
    await api.call("DELETE", deskPath(entry.chat_id), { dismiss: true });
    await done(said.dismissed);
  };
  return [action(said.dismiss, dismiss, place, { "aria-label": said.dismissOf(chatName(entry)) }), place];
}

function isOwn({ holder }, { session }) { return holder !== null && holder.id === session.claims.sub; }

function stateOf(entry, context) {
  if (entry.holder === null) return el("strong", {}, said.waits);
  return isOwn(entry, context) ? said.heldByYou : said.heldBy(entry.holder.name);
}

function reasonOf({ reason_code: code, agent_id: agent }, names) {
  return agent === null ? said.reasons[code] : said.askedBy(said.reasons[code], names.get(agent) ?? words.run.gone);
}

/** The time from the request to the team's first message. */
function answerTime({ since, answered_at: at }) {
  return at === null ? words.parts.none : durationOf((new Date(at) - new Date(since)) / 1000);
}

// ---------------------------------------------------------------------- one chat

class DeskChat {
  #context;
  #id;
  #place;
  #shown = null; // the entry that is shown, as JSON
  #held = null;
  #end = () => {};
  #names = null;

  constructor(context, id, place) {
    this.#context = context;
    this.#id = id;
    this.#place = place;
  }

  async start() {
    await this.#look(null);
    this.#end = following(() => this.#look(null));
  }

  stop() {
    this.#end();
    this.#held?.stop();
  }

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
    this.#held?.stop();
    this.#held = null;
    const notice = told === null ? null : el("p", { class: "answered", role: "status" }, told);
    if (entry === null) {
      fill(this.#place, notice, card(said.notHere, el("p", { class: "hint" }, said.notHereHint), this.#actions(true, false)));
      return;
    }
    const about = card(said.request, this.#facts(entry, await this.#agents(entry)), summaryOf(entry));
    if (isOwn(entry, this.#context)) {
      const held = this.#held = new HeldChat(this.#context, this.#id, (told) => this.#look(told));
      about.append(held.summary);
      fill(this.#place, notice, about, held.root);
      await held.start();
    } else if (entry.holder !== null) {
      fill(this.#place, notice, el("p", { class: "notice", role: "alert" }, said.taken(entry.holder.name)), about);
    } else {
      about.append(el("div", {}, dismissal(entry, this.#context, (told) => this.#look(told))));
      fill(this.#place, notice, about, this.#actions(entry.visibility === "private", true));
    }
  }

  #facts(entry, names) {
    return facts([
      [said.chat, chatName(entry)], [said.state, stateOf(entry, this.#context)], [said.since, when(entry.since)], [said.reason, reasonOf(entry, names)],
      [said.takenAt, entry.taken_at && when(entry.taken_at)], [said.answered, entry.answered_at && answerTime(entry)],
    ]);
  }

  /** Ways to step in; of a chat that is or may be private, a reason comes first. */
  #actions(asksReason, waits) {
    const subject = `chat/${this.#id}`, place = el("div", { class: "stack" });
    const offer = (reason) => { fill(place, deskActions(this.#context, this.#id, reason, waits, (told) => this.#look(told))); };
    if (asksReason && reasonFor(subject) === null) fill(place, askReason(said.why, subject, offer, said.next));
    else offer(reasonFor(subject));
    return place;
  }

  /** The names of agents by id, if an agent has asked. */
  async #agents({ agent_id: id }) {
    if (id === null) return new Map();
    this.#names ??= new Map([[id, await this.#context.api.get(`/v1/agents/${part(id)}`).then((agent) => agent.name, () => words.run.gone)]]);
    return this.#names;
  }
}

/** What the agent says the matter is, which the API shows to the holder only. */
function summaryOf({ summary, reason }) {
  if (!summary && !reason) return null;
  return el("div", { class: "stack" }, el("h3", {}, said.summary),
    reason ? el("p", { class: "text" }, reason) : null, summary ? el("blockquote", {}, summary) : null);
}

export default { name: "desk", needs: "support", show };
