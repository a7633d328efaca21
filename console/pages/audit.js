// Who read or changed what on a day.
import { withQuery } from "../api.js";
import { el, field, fill } from "../dom.js";
import { card, form, paged, part, when } from "../parts.js";
import { words } from "../words.js";

const said = words.pages.audit;

async function show(main, [day = null], { api }) {
  const chosen = el("input", { type: "date", value: day ?? "" });
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about),
    form(field(said.day, chosen, said.dayHint), said.show, () => { location.hash = chosen.value ? `#/audit/${part(chosen.value)}` : "#/audit"; },
      { class: "filter" }),
    card(day ?? said.today, await paged(api, withQuery("/v1/audit", { day }), entryOf, said.none)));
  return null;
}

function entryOf(entry) {
  const ids = Object.entries(entry.ids).map(([name, id]) => `${name} ${id}`).join(", ");
  return [
    el("p", {}, el("strong", {}, entry.who), " ", said.verbs[entry.verb] ?? entry.verb, " ", entry.kind, " ",
      el("span", { class: "badge soft" }, entry.scope), entry.refused ? [" ", el("span", { class: "badge" }, said.refused)] : null, " ",
      el("span", { class: "hint" }, when(entry.at))),
    entry.reason === null ? null : el("p", { class: "text" }, said.reason(entry.reason)),
    el("p", { class: "hint" }, ids === "" ? entry.route : `${entry.route}: ${ids}`),
  ];
}

export default { name: "audit", needs: "privacy", show };
