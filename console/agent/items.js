// What the items of an agent have in common: their paths, and where they come from.
import { withQuery } from "../api.js";
import { el } from "../dom.js";
import { part } from "../parts.js";
import { words } from "../words.js";

const said = words.pages.agent.items;

/** Return the path of an agent's items, for the person or the chat whose items they are. */
export function pathOf(agent, kind, scope, more = {}) {
  return withQuery(`/v1/agents/${part(agent.id)}/${kind}`, { ...scope, ...more });
}

/** Where an item comes from: a run, a chat, or an operator. */
export function sourceOf({ run_id: run, chat_id: chat, from_seq: from, to_seq: to }) {
  if (run) return el("a", { href: `#/why/run/${part(run)}` }, said.fromRun);
  if (chat) return el("a", { href: `#/transcripts/${part(chat)}` }, from ? said.fromMessages(from, to) : said.fromChat);
  return said.fromOperator;
}

/** Where a goal, a plan or a thread comes from. */
export function madeIn(item) { return sourceOf({ run_id: item.source_run_id, chat_id: item.source_chat_id }); }
