// The queue of the desk: the calls and the chats that wait for the team, or that a colleague has.
import { el, fill } from "../dom.js";
import { chatName } from "../names.js";
import { part, when } from "../parts.js";
import { words } from "../words.js";

const MOST_AGENTS = 1_000;
const said = words.pages.desk;

export class Queue {
  #context;
  #open; // the address of what is shown beside the queue
  #names = null; // of agents, by id
  #before = null;

  constructor(context, open) {
    this.#context = context;
    this.#open = open;
    this.root = el("div", { class: "stack queue" });
  }

  /** Read what waits; show it and say it if it has changed. */
  async look() {
    const { api } = this.#context;
    this.#names ??= new Map((await api.items("/v1/agents", MOST_AGENTS)).map((agent) => [agent.id, agent.name]));
    const [{ items: chats }, { items: calls }] = await Promise.all([api.get("/v1/desk"), api.get("/v1/approvals")]);
    const shown = JSON.stringify([chats, calls]);
    if (shown === this.#before) return;
    this.#show(chats, calls);
    if (this.#before !== null) {
      this.#context.announce(said.waiting(chats.filter((each) => each.state === "waiting").length, calls.length));
      this.#context.count();
    }
    this.#before = shown;
  }

  /** Move the focus by a number of entries, from the one that has it or is open. */
  move(by) {
    const links = [...this.root.querySelectorAll("a")];
    const focused = links.indexOf(document.activeElement);
    const from = focused >= 0 ? focused : links.findIndex((each) => each.hasAttribute("aria-current"));
    const next = from < 0 ? 0 : Math.min(Math.max(from + by, 0), links.length - 1);
    links[next]?.focus();
  }

  #show(chats, calls) {
    const focused = this.root.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    fill(this.root,
      calls.length === 0 ? null : this.#list(words.approvals.title, calls.map((each) => this.#call(each))),
      chats.length === 0 ? el("p", { class: "empty" }, said.none) : this.#list(said.queue, chats.map((each) => this.#chat(each))));
    if (focused !== null) this.root.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  }

  #list(title, rows) {
    return el("section", { "aria-label": title }, el("h2", {}, title), el("ul", { class: "links" }, rows));
  }

  #call(each) {
    const agent = this.#names.get(each.agent_id) ?? words.run.gone;
    return this.#entry(`#/desk/approvals/${part(each.id)}`, each.tool, each.private, [agent], each.created_at);
  }

  #chat(entry) {
    return this.#entry(`#/desk/${part(entry.chat_id)}`, chatName(entry), entry.visibility === "private",
      [stateOf(entry, this.#context), reasonOf(entry, this.#names)], entry.since);
  }

  #entry(href, name, isPrivate, lines, since) {
    return el("li", {}, el("a", { href, "aria-current": href === this.#open ? "true" : null },
      el("strong", {}, name), isPrivate ? el("span", { class: "badge soft" }, said.private) : null,
      lines.map((line) => el("span", { class: "preview" }, line)), el("span", { class: "preview" }, when(since))));
  }
}

/** Whether the operator holds a chat. */
export function isOwn({ holder }, { session }) { return holder !== null && holder.id === session.claims.sub; }

/** Who has a chat, in words. */
export function stateOf(entry, context) {
  if (entry.holder === null) return said.waits;
  return isOwn(entry, context) ? said.heldByYou : said.heldBy(entry.holder.name);
}

/** Why a chat is on the desk, in words; `names` has those of agents. */
export function reasonOf({ reason_code: code, agent_id: agent }, names) {
  return agent === null ? said.reasons[code] : said.askedBy(said.reasons[code], names.get(agent) ?? words.run.gone);
}
