// Who read or changed what on a day. Looks at pages without a person's words are folded.
import { withQuery } from "../api.js";
import { el, field, fill, select } from "../dom.js";
import { agentsById, copyId } from "../names.js";
import { action, card, form, more, outcome, part, when } from "../parts.js";
import { words } from "../words.js";

const PAGE = 100, MOST_PEOPLE = 1000;
const ALL = "all";
const said = words.pages.audit;

async function show(main, [day = "", kept = "folded"], { api }) {
  const chosen = el("input", { type: "date", value: /^\d/.test(day) ? day : "" });
  const shown = select([["folded", said.folded], [ALL, said.all]], kept, () => {});
  const [agents, people] = await Promise.all([agentsById(api), api.items("/v1/users", MOST_PEOPLE)]);
  const names = new Map([...people.map((user) => [user.id, user.name]), ...[...agents.values()].map((agent) => [agent.id, agent.name])]);
  const list = el("ul", { class: "items" }), failure = outcome();
  const older = action(words.parts.more, read, failure, { hidden: true });
  const entries = [];
  let cursor = null;

  async function read() {
    const page = await api.get(withQuery("/v1/audit", { day: chosen.value || null, limit: PAGE, cursor }));
    cursor = page.next_cursor;
    older.hidden = cursor === null;
    entries.push(...page.items);
    const rows = kept === ALL ? entries.map((entry) => [entry]) : folded(entries);
    fill(list, rows.map((row) => el("li", {}, rowOf(row, names))));
  }
  await read();
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about),
    form([field(said.day, chosen, said.dayHint), field(said.shown, shown)], said.show, () => {
      location.hash = `#/audit/${part(chosen.value || said.today)}/${part(shown.value)}`;
    }, { class: "filter" }),
    card(chosen.value || said.todays, entries.length === 0 ? el("p", { class: "empty" }, said.none) : list, older, failure));
  return null;
}

/** Whether an entry is a look that showed no private content, as each page of this console makes. */
function isLook(entry) { return entry.verb === "read" && entry.reason === null && !entry.refused; }

/** The entries in rows: looks of one caller that follow one another share a row. */
function folded(entries) {
  const rows = [];
  for (const entry of entries) {
    const last = rows.at(-1);
    if (last !== undefined && isLook(entry) && isLook(last[0]) && last[0].who === entry.who) last.push(entry);
    else rows.push([entry]);
  }
  return rows;
}

function rowOf(row, names) {
  if (row.length === 1) return entryOf(row[0], names);
  const [newest] = row;
  return [el("p", {}, el("strong", {}, names.get(newest.who) || newest.who), " ", said.looks(row.length), " ", el("span", { class: "hint" }, when(newest.at))),
    more(said.unfold, el("ul", { class: "items" }, row.map((entry) => el("li", {}, entryOf(entry, names)))))];
}

function entryOf(entry, names) {
  return [
    el("p", {}, el("strong", {}, names.get(entry.who) || entry.who), " ", said.verbs[entry.verb] ?? entry.verb, " ", entry.kind.replaceAll("_", " "), " ",
      el("span", { class: "badge soft" }, entry.scope), entry.refused ? [" ", el("span", { class: "badge" }, said.refused)] : null, " ",
      el("span", { class: "hint" }, when(entry.at))),
    entry.reason === null ? null : el("p", { class: "text" }, said.reason(entry.reason)),
    el("p", { class: "hint row start" }, el("code", {}, entry.route), Object.entries(entry.ids).map(([name, id]) => idOf(name, id, names))),
  ];
}

/** What an id stands for: a name, a link, or a button that copies it. */
function idOf(name, id, names) {
  const what = name.replace(/_id$/, "").replaceAll("_", " ");
  if (name === "chat_id") return [el("a", { href: `#/transcripts/${part(id)}` }, said.chat), copyId(id)];
  if (!name.endsWith("_id")) return el("span", {}, said.named(what, id));
  return [names.has(id) ? el("span", {}, said.named(what, names.get(id) || words.names.unnamed)) : null, copyId(id, said.idOf(what))];
}

export default { name: "audit", needs: "privacy", show };
