// Sharing rules: whom agents may tell what others say to them alone.
import { el, fill } from "../dom.js";
import { card, lazy, more, paged, when } from "../parts.js";
import { itemForm } from "../sharing/explanation.js";
import { newRule, ruleItem, textOf } from "../sharing/rule_forms.js";
import { rulesTable } from "../sharing/rules_table.js";
import { words } from "../words.js";

const PATH = "/v1/sharing-rules";
const said = words.pages.sharing;

async function show(main, args, context) {
  const { api, session } = context;
  const place = el("div", { class: "stack" }), list = el("div", { class: "stack" });
  const owns = session.may("owner");

  async function refresh() {
    const { items: rules } = await api.get(PATH);
    fill(place, rulesTable(rules));
    fill(list, rules.length === 0 ? el("p", { class: "empty" }, said.none)
      : el("ul", { class: "items" }, rules.map((rule) => el("li", {}, ruleItem(api, rule, owns ? refresh : null)))));
  }
  await refresh();
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about),
    card(said.table, place),
    card(said.rules, list, owns ? lazy(said.add, () => newRule(api, refresh)) : el("p", { class: "hint" }, said.ownersOnly)),
    card(said.explanation.itemTitle, lazy(said.explanation.openItem, () => itemForm(api))),
    card(said.history, lazy(said.showHistory, () => paged(api, `${PATH}/versions`, versionOf, said.noHistory))));
  return null;
}

/** A version of the rules: when it was made, by whom, and its rules. */
function versionOf({ version, changed_at: at, changed_by: by, rules }) {
  return [
    el("p", {}, el("strong", {}, said.version(version)), " ", el("span", { class: "hint" }, said.by(by), " ", when(at))),
    rules.length === 0 ? el("p", { class: "hint" }, said.noRules) : more(said.rulesOf(rules.length),
      el("ul", {}, rules.map((rule) => el("li", {}, said.named(rule.name, textOf(rule)))))),
  ];
}

export default { name: "sharing", needs: "support", show };
