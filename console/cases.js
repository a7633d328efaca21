// Cases of an agent: the form that keeps a run or a few messages as one, and the list.
import { withQuery } from "./api.js";
import { el, field } from "./dom.js";
import { action, card, form, outcome, part, table } from "./parts.js";
import { askReason, giveReason, reasonFor } from "./reason.js";
import { trialCards } from "./trials.js";
import { words } from "./words.js";

const MOST = 200;
const said = words.pages.cases;

function pathOf(agentId, reason, rest = "") {
  return withQuery(`/v1/agents/${part(agentId)}/cases${rest}`, { reason });
}

/** A form that keeps a run that has ended as a case. */
export function keepCase(api, run, reason) {
  return card(said.keep, el("p", { class: "hint" }, said.keepAbout), caseForm(said.keepIt, [], async (given) => {
    await api.post(pathOf(run.agent_id, reason), { ...given, run_id: run.id });
    return [said.kept, " ", el("a", { href: `#/agent/${part(run.agent_id)}/trials` }, said.toCases)];
  }));
}

/** The cases of an agent: a part of its page. */
export async function trials(api, agent, scope, again) {
  const subject = `cases/${agent.id}`, reason = reasonFor(subject);
  const cases = await api.items(pathOf(agent.id, reason), MOST);
  const place = outcome(), from = el("input", { required: true, maxlength: 200, autocomplete: "off", value: said.somebody });
  const messages = el("textarea", { rows: 3, required: true });
  const seen = async (why) => {
    giveReason(subject, why);
    await again();
  };
  return [
    await trialCards(api, agent, cases, subject, again),
    card(said.cases, el("p", { class: "hint" }, said.about), table(said.cases, said.heads, cases.map((each) => row(api, each, reason, place, again)), said.none), place,
      cases.some((each) => each.private && each.name === null && each.state === "ready") ? askReason(said.why, subject, seen) : null),
    card(said.add, caseForm(said.create, [field(said.from, from), field(said.messages, messages, said.messagesHint)], async (given) => {
      const turns = linesOf(messages).map((text) => ({ from: from.value, text }));
      await api.post(pathOf(agent.id, null), { ...given, script: { people: [{ name: from.value }], turns } });
      await again();
    })),
  ];
}

function row(api, each, reason, place, again) {
  const name = each.name ?? said.withheld, path = pathOf(each.agent_id, reason, `/${part(each.id)}`);
  const then = (call) => async () => {
    await call();
    await again();
  };
  return [
    name,
    each.run_id ? el("a", { href: `#/why/run/${part(each.run_id)}` }, said.run) : each.script.turns.map((turn) => turn.text).join(" / "),
    el("ul", {}, each.expect.map((one) => el("li", {}, expected(one)))),
    each.state === "gone" ? said.gone : said.ready,
    action(each.required ? said.required : said.optional, then(() => api.patch(path, { required: !each.required })), place, { "aria-label": said.toggle(name, each.required) }),
    action(said.remove, then(() => api.delete(path)), place, { "aria-label": said.of(said.remove, name) }),
  ];
}

/** What is expected, in words. */
function expected(one) {
  const [[kind, value]] = Object.entries(one).filter(([, each]) => each !== null);
  return `${said.kinds[kind]} ${value === true ? "" : typeof value === "string" ? value : Array.isArray(value) ? value.join(said.or) : value.tool ?? JSON.stringify(value)}`.trim();
}

/** The fields that all cases have, after those of their input; `keep` gets their values. */
function caseForm(label, input, keep) {
  const name = el("input", { required: true, maxlength: 200, autocomplete: "off" });
  const phrases = { says: el("textarea", { rows: 2 }), says_not: el("textarea", { rows: 2 }) };
  const tools = { calls: el("input", { autocomplete: "off" }), calls_not: el("input", { autocomplete: "off" }) };
  const [silent, asks_a_person, required] = [false, false, true].map((checked) => el("input", { type: "checkbox", checked }));
  const check = (control, text) => el("label", { class: "check" }, control, el("span", {}, text));
  return form([
    field(said.name, name), ...input,
    Object.entries(phrases).map(([kind, control]) => field(said.kinds[kind], control, said.phrasesHint)),
    el("div", { class: "row fields" }, Object.entries(tools).map(([kind, control]) => field(said.kinds[kind], control))),
    check(silent, said.kinds.silent), check(asks_a_person, said.kinds.asks_a_person), check(required, said.mustHold),
  ], label, () => keep({ name: name.value, required: required.checked, expect: [
    ...Object.entries(phrases).map(([kind, control]) => (linesOf(control).length > 0 ? { [kind]: linesOf(control) } : null)),
    ...Object.entries(tools).map(([kind, control]) => (control.value ? { [kind]: { tool: control.value } } : null)),
    ...Object.entries({ silent, asks_a_person }).map(([kind, control]) => (control.checked ? { [kind]: true } : null)),
  ].filter(Boolean) }));
}

function linesOf(control) { return control.value.split("\n").map((line) => line.trim()).filter(Boolean); }
