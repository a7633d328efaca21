// One sharing rule: what it says, and the forms that make, change and delete one.
import { el, field, select } from "../dom.js";
import { action, facts, form, localTime, more, outcome, part, when } from "../parts.js";
import { ROLE } from "../person_forms.js";
import { words } from "../words.js";
import { stateOf } from "./rules_table.js";

const PATH = "/v1/sharing-rules";
const MAX_NAME = 200;
const said = words.pages.sharing;

/** What a rule says, in one sentence. */
export function textOf(rule) { return said.tells(rule.from.role, rule.to.role, rule.same_subject); }

/** A rule with its facts; with `changed`, which is called after a change, also with its forms. */
export function ruleItem(api, rule, changed) {
  const state = stateOf(rule), place = outcome();
  const remove = async () => {
    await api.delete(`${PATH}/${part(rule.id)}`);
    await changed();
  };
  return [
    el("h3", {}, rule.name, state === null ? null : [" ", el("span", { class: "badge" }, state)]),
    el("p", { class: "text" }, textOf(rule)),
    facts([[said.reason, rule.reason], [said.begins, when(rule.begins_at)], [said.ends, rule.ends_at === null ? said.never : when(rule.ends_at)]]),
    changed === null ? null : el("div", { class: "row start" },
      more(said.change, changeForm(api, rule, changed)),
      more(said.delete, el("p", {}, said.aboutDelete), action(said.deleteNow, remove, place, { "aria-label": said.deleteRule(rule.name) }), place)),
  ];
}

/** The fields that name, explain and end a rule. */
function commonFields(rule) {
  const name = el("input", { required: true, maxlength: MAX_NAME, autocomplete: "off", value: rule?.name ?? "" });
  const reason = el("input", { required: true, maxlength: MAX_NAME, autocomplete: "off", value: rule?.reason ?? "" });
  const ends = el("input", { type: "datetime-local", step: 1, value: localTime(rule?.ends_at) });
  return {
    nodes: [field(said.ruleName, name), field(said.reason, reason, said.reasonHint)],
    ending: field(said.ends, ends, rule?.ends_at ? null : said.endsHint),
    given: () => ({ name: name.value.trim(), reason: reason.value.trim(), ends_at: timeOf(ends) }),
  };
}

/** The time of a field for the API; null if it is empty. */
function timeOf(control) { return control.value === "" ? null : new Date(control.value).toISOString(); }

function changeForm(api, rule, changed) {
  const { nodes, ending, given } = commonFields(rule);
  return form([nodes, ending], said.save, async () => {
    await api.patch(`${PATH}/${part(rule.id)}`, given());
    await changed();
  });
}

/** A form that makes a rule. */
export function newRule(api, changed) {
  const { nodes, ending, given } = commonFields(null);
  const from = roleField(said.from), to = roleField(said.to);
  const same = el("input", { type: "checkbox", id: "same-subject" });
  const starts = el("input", { type: "datetime-local", step: 1 });
  return form([nodes, el("div", { class: "row fields" }, from.node, to.node),
    el("p", { class: "check" }, same, el("label", { for: same.id }, said.same)),
    el("div", { class: "row fields" }, field(said.begins, starts, said.beginsHint), ending)], said.create, async () => {
    await api.post(PATH, { ...given(), from: from.given(), to: to.given(), same_subject: same.checked, starts_at: timeOf(starts) });
    await changed();
    return said.created;
  });
}

/** The field for the role of one side of a rule. */
function roleField(label) {
  const role = el("input", { required: true, pattern: ROLE, maxlength: 40, autocomplete: "off", spellcheck: "false" });
  return { node: field(label, role, said.roleHint), given: () => ({ role: role.value.trim() }) };
}
