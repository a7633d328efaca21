// Sharing rules: whom agents may tell what others say to them alone.
import { el, fill } from "../dom.js";
import { peopleNames } from "../names.js";
import { card, lazy, paged, when } from "../parts.js";
import { itemForm } from "../sharing/explanation.js";
import { previewForm } from "../sharing/preview.js";
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
    const names = await namesIn(api, rules);
    fill(place, rulesTable(rules, names));
    fill(list, rules.length === 0 ? el("p", { class: "empty" }, said.none)
      : el("ul", { class: "items" }, rules.map((rule) => el("li", {}, ruleItem(api, rule, names, owns ? refresh : null)))));
  }
  await refresh();
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about),
    card(said.table, place),
    card(said.rules, list, owns ? lazy(said.add, () => newRule(api, refresh)) : el("p", { class: "hint" }, said.ownersOnly)),
    card(said.preview.title, el("p", { class: "hint" }, said.preview.about),
      session.may("privacy") ? lazy(said.preview.open, () => previewForm(api)) : el("p", { class: "hint" }, said.preview.needsPrivacy)),
    card(said.explanation.itemTitle, lazy(said.explanation.openItem, () => itemForm(api))),
    card(said.history, lazy(said.showHistory, () => paged(api, `${PATH}/versions`, (version) => versionOf(api, version), said.noHistory))));
  return null;
}

/** The names of the people whom rules name, by id. */
function namesIn(api, rules) {
  return peopleNames(api, rules.flatMap((rule) => [rule.from.user_id, rule.to.user_id]).filter(Boolean));
}

/** A version of the rules: when it was made, by whom, and its rules. */
function versionOf(api, { version, changed_at: at, changed_by: by, rules }) {
  return [
    el("p", {}, el("strong", {}, said.version(version)), " ", el("span", { class: "hint" }, said.by(by), " ", when(at))),
    rules.length === 0 ? el("p", { class: "hint" }, said.noRules) : lazy(said.rulesOf(rules.length), async () => {
      const names = await namesIn(api, rules);
      return el("ul", {}, rules.map((rule) => el("li", {}, said.named(rule.name, textOf(rule, names)))));
    }),
  ];
}

export default { name: "sharing", needs: "support", show };
