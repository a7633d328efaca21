// The rules as a table: whose words in rows, who may be told in columns, and in each cell the rules that permit it.
import { el } from "../dom.js";
import { table } from "../parts.js";
import { words } from "../words.js";

const said = words.pages.sharing;

/** Name a side of a rule: a role, or a person. */
export function partyName({ role, user_id: id }, names) { return role ?? said.person(names.get(id) ?? words.names.gone); }

/** What tells the sides of rules apart. */
function keyOf({ role, user_id: id }) { return role === null ? `2 ${id}` : `1 ${role}`; } // roles sort before people

/** Since when or until when a rule does not hold, in words; null for one that holds now. */
export function stateOf(rule, now = Date.now()) {
  if (rule.withdrawn_at !== null || (rule.ends_at !== null && Date.parse(rule.ends_at) <= now)) return said.ended;
  return Date.parse(rule.begins_at) > now ? said.notYet : null;
}

/** The table of all rules that have not ended. */
export function rulesTable(rules, names) {
  const left = rules.filter((rule) => stateOf(rule) !== said.ended);
  const sides = (side) => [...new Map(left.map((rule) => [keyOf(rule[side]), rule[side]]))]
    .sort(([one], [other]) => one.localeCompare(other));
  const columns = sides("to");
  const rows = sides("from").map(([from, party]) => [partyName(party, names), ...columns.map(([to]) =>
    cellOf(left.filter((rule) => keyOf(rule.from) === from && keyOf(rule.to) === to)))]);
  return table(said.table, [said.fromTo, ...columns.map(([, party]) => partyName(party, names))], rows, said.none);
}

function cellOf(rules) {
  if (rules.length === 0) return el("span", { class: "hint" }, said.nothing);
  return el("ul", {}, rules.map((rule) => el("li", {}, rule.name,
    rule.same_subject ? [" ", el("span", { class: "hint" }, said.sameOnly)] : null,
    stateOf(rule) === null ? null : [" ", el("span", { class: "badge soft" }, stateOf(rule))])));
}
