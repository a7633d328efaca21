// Trials of an agent: try a prompt on its cases, and see both versions side by side.
import { withQuery } from "./api.js";
import { difference } from "./diff.js";
import { el, field, fill, select } from "./dom.js";
import { action, amount, card, facts, form, lazy, number, outcome, part, table, when } from "./parts.js";
import { askReason, giveReason, reasonFor } from "./reason.js";
import { words } from "./words.js";

const GATES = ["off", "warn", "block"];
const proposed = new Map(); // agent -> a prompt that another page proposes to try
const said = words.pages.trials;

/** A link to the trials of an agent, where this prompt stands in the form. */
export function tryFirst(agent, prompt) {
  return el("a", { href: `#/agent/${part(agent.id)}/trials`, on: { click: () => proposed.set(agent.id, prompt) } }, said.tryFirst);
}

/** The trials of an agent, on the part of its page that has the cases. */
export async function trialCards(api, agent, cases, subject, again) {
  const path = `/v1/agents/${part(agent.id)}`, shown = el("div", { class: "stack" }), place = outcome();
  const { items } = await api.get(`${path}/trials`);
  const names = new Map(cases.map((each) => [each.id, each.name]));
  const prompt = el("textarea", { rows: 8, required: true, value: proposed.get(agent.id) ?? agent.system_prompt });
  const gate = select(GATES.map((each) => [each, said.gates[each]]), agent.gate, () => {});
  const why = agent.gate === "block" ? el("input", { required: true, minlength: 15, maxlength: 300, autocomplete: "off" }) : null;
  proposed.delete(agent.id);
  const open = async (id) => {
    fill(shown, await trialView(api, agent, await api.get(`${path}/trials/${part(id)}`), names, subject, open, again));
  };
  return [
    card(said.start, el("p", { class: "hint" }, said.about), form([field(said.prompt, prompt)], said.startIt, async () => {
      const query = withQuery(`${path}/trials`, { reason: reasonFor(subject) });
      const trial = await api.post(query, { candidate: { changes: { system_prompt: prompt.value } } });
      fill(shown, await trialView(api, agent, trial, names, subject, open, again));
      return said.started(number(trial.planned_calls), number(trial.planned_tokens), amount(trial.planned_money));
    })),
    shown,
    card(said.trials, table(said.trials, said.heads, items.map((each) => [
      when(each.created_at), said.states[each.state], action(said.open, () => open(each.id), place, { "aria-label": `${said.open}: ${each.created_at}` }),
    ]), said.none), place),
    card(said.gate, form([field(said.gate, gate, said.gateHint), why === null ? null : field(said.override, why)], said.save, async () => {
      Object.assign(agent, await api.patch(withQuery(path, { override_reason: why?.value ?? null }), { gate: gate.value }));
      await again();
    })),
  ];
}

/** One trial: both prompts, what it used, and each case. */
async function trialView(api, agent, trial, names, subject, open, again) {
  const path = `/v1/agents/${part(agent.id)}`, place = outcome();
  const use = async () => {
    await api.patch(withQuery(path, { trial_id: trial.id }), { system_prompt: trial.candidate.system_prompt });
    Object.assign(agent, await api.get(path));
    await again();
  };
  const stop = async () => {
    await api.delete(`${path}/trials/${part(trial.id)}`);
    await open(trial.id);
  };
  return card(said.trial,
    facts([[said.state, trial.why ?? said.states[trial.state]], [said.progress, said.played(trial.cases.filter((each) => each.verdict).length, trial.cases.length)],
      [said.tokens, number(trial.tokens)], [said.money, amount(trial.money)]]),
    el("h3", {}, said.prompts), difference(trial.baseline.system_prompt, trial.candidate.system_prompt),
    table(said.cases, said.caseHeads, trial.cases.map((each) => [
      names.get(each.id) ?? said.unnamed,
      each.verdict === null ? said.waiting : said.verdicts[each.verdict],
      said.passed(each.passed.baseline, each.plays.baseline), said.passed(each.passed.candidate, each.plays.candidate),
      lazy(said.sideBySide, () => sideBySide(api, path, trial, each, subject)),
    ])),
    el("div", { class: "row" }, action(said.refresh, () => open(trial.id), place),
      trial.state === "running" ? action(said.stop, stop, place) : null,
      trial.state === "ended" ? action(said.use, use, place, { class: "primary" }) : null), place);
}

/** The plays of a case, those of the baseline beside those of the candidate. */
async function sideBySide(api, path, trial, one, subject) {
  if (one.private && reasonFor(subject) === null) {
    const shown = el("div", {});
    return fill(shown, askReason(said.why, subject, async (reason) => {
      giveReason(subject, reason);
      fill(shown, await sideBySide(api, path, trial, one, subject));
    }));
  }
  const { items } = await api.get(withQuery(`${path}/trials/${part(trial.id)}/results`, { case_id: one.id, reason: one.private ? reasonFor(subject) : null }));
  const of = (side, n) => items.find((each) => each.side === side && each.n === n);
  const last = Math.max(0, ...items.map((each) => each.n));
  if (last === 0) return el("p", { class: "empty" }, said.noPlay);
  return el("ol", { class: "items" }, Array.from({ length: last }, (_, n) => [of("baseline", n + 1), of("candidate", n + 1)]).map((pair) => el("li", {},
    el("p", { class: "hint" }, pair.map((each) => (each ? said.marks[each.mark] : said.waiting)).join(said.against)),
    compared(...pair.map(textOf)), pair[1]?.missing.map((text) => el("p", { class: "notice" }, text)))));
}

function compared(before, now) { return before === now ? el("blockquote", {}, now || said.silent) : difference(before, now); }

function textOf(play) {
  if (play === undefined) return "";
  return [...play.texts, ...play.questions, ...play.calls, play.unrecorded ? said.unrecorded(play.unrecorded) : null, ...play.effects].filter(Boolean).join("\n");
}
