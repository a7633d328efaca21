// The rules as a table: whose words in rows, who may be told in columns, and in each cell the rules that permit it.
import { el } from "../dom.js";
import { table } from "../parts.js";
import { words } from "../words.js";

const said = words.pages.sharing;

/** Since when or until when a rule does not hold, in words; null for one that holds now. */
export function stateOf(rule, now = Date.now()) {
  if (rule.withdrawn_at !== null || (rule.ends_at !== null && Date.parse(rule.ends_at) <= now)) return said.ended;
  return Date.parse(rule.begins_at) > now ? said.notYet : null;
}

/** The table of all rules that have not ended. */
export function rulesTable(rules) {
  const left = rules.filter((rule) => stateOf(rule) !== said.ended);
  const roles = (side) => [...new Set(left.map((rule) => rule[side].role))].sort();
  const columns = roles("to");
  const rows = roles("from").map((from) => [from, ...columns.map((to) =>
    cellOf(left.filter((rule) => rule.from.role === from && rule.to.role === to)))]);
  return table(said.table, [said.fromTo, ...columns], rows, said.none);
}

function cellOf(rules) {
  if (rules.length === 0) return el("span", { class: "hint" }, said.nothing);
  return el("ul", {}, rules.map((rule) => el("li", {}, rule.name,
    rule.same_subject ? [" ", el("span", { class: "hint" }, said.sameOnly)] : null,
    stateOf(rule) === null ? null : [" ", el("span", { class: "badge soft" }, stateOf(rule))])));
}
