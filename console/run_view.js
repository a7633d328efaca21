// A run as operators inspect it: its prompt, steps, costs and reasons; and the same prompt once more.
import { withQuery } from "./api.js";
import { keepCase } from "./cases.js";
import { difference } from "./diff.js";
import { el, field, fill } from "./dom.js";
import { fileAt, mediaView } from "./media.js";
import { copyId, peopleNames } from "./names.js";
import { action, amount, bar, card, facts, form, lazy, number, outcome, part, table, took, verbatim, when } from "./parts.js";
import { askReason, reasonFor } from "./reason.js";
import { tryFirst } from "./trials.js";
import { words } from "./words.js";

const said = words.run;
const SCRIPTED = "scripted", SMALL = "gemma-3-270m"; // models of a local stack
const IDENTITY = "IDENTITY"; // the section with the system prompt

/** Read a run; return its cards. A private run asks for a reason first. */
export async function runView(api, runId) {
  const place = el("div", { class: "stack" });
  const show = async (reason) => { fill(place, await cards(api, runId, reason, show)); };
  await show(reasonFor(runId));
  return place;
}

/** Return the cards of a run; of one that is withheld, what remains and the question for a reason. */
async function cards(api, runId, reason, show) {
  const run = await readRun(api, runId, reason);
  const agent = await api.get(`/v1/agents/${part(run.agent_id)}`).catch((error) => {
    if (error.status !== 404) throw error;
    return { id: run.agent_id, name: said.gone, system_prompt: "" };
  });
  if (run.withheld) {
    return [withheld(run, agent), reason === null ? askReason(said.why, runId, show) : el("p", { class: "notice" }, said.notShown)];
  }
  const names = await peopleNames(api, run.held?.readers.people ?? []);
  return [
    summary(run, agent, names),
    await filesCard(api, run, reason),
    run.prompt === null ? card(said.prompt, el("p", { class: "empty" }, said.noPrompt)) : promptCard(run.prompt, said.prompt),
    stepsCard(run),
    run.prompt === null ? null : comparison(api, run, reason),
    run.prompt === null ? null : replay(api, run, agent, reason),
    run.prompt === null || run.ended_at === null ? null : keepCase(api, run, reason),
  ];
}

/** The pictures and files that the run was asked about, if the operator may see them. */
async function filesCard(api, { chat_id: chat, trigger }, reason) {
  if (!chat || !trigger.seq) return null;
  const path = `/v1/transcripts/${part(chat)}`, why = { reason: reason ?? said.defaultReason };
  const first = trigger.from_seq ?? trigger.seq;
  const query = { ...why, after: first - 1, limit: trigger.seq - first + 1 };
  const { items } = await api.get(withQuery(path, query)).catch(() => ({ items: [] }));
  const media = items.flatMap((message) => message.media);
  return media.length === 0 ? null : card(said.files,
    mediaView(media, (file) => fileAt(api, withQuery(`${path}/media/${part(file.id)}`, why), file)));
}

function pathOf(runId, rest, reason) {
  const path = `/v1/runs/${part(runId)}${rest}`;
  return reason === null ? path : withQuery(path, { reason });
}

function readRun(api, runId, reason) { return api.get(pathOf(runId, "", reason)); }

/** What remains of a run that is withheld: its status, times and reasons. */
function withheld(run, agent) {
  return card(said.of(agent.name),
    el("p", { class: "notice" }, said.withheld),
    facts([
      [said.status, words.runStatuses[run.status] ?? run.status], [said.meaning, run.meaning],
      [said.created, when(run.created_at)], [said.time, took(run.started_at, run.ended_at)],
    ]),
    reasonsOf(run), el("p", {}, el("a", { href: `#/agent/${part(run.agent_id)}` }, said.toAgent)));
}

function reasonsOf(run) {
  return table(said.reasons, [said.reason, said.at], run.reasons.map((each) => [each.reason, when(each.at)]), said.noReasons);
}

function summary(run, agent, names) {
  return card(said.of(agent.name), exchange(run, agent),
    facts([
      [said.status, words.runStatuses[run.status] ?? run.status], [said.meaning, run.meaning], [said.error, run.error],
      [said.trigger, words.triggers[run.trigger.type] ?? run.trigger.type], [said.created, when(run.created_at)], [said.time, took(run.started_at, run.ended_at)],
      [said.input, number(run.usage.input_tokens)], [said.cached, number(run.usage.cached_tokens)],
      [said.output, number(run.usage.output_tokens)], [said.money, amount(run.money)],
      [said.heldFor, run.held ? readersOf(run.held, names) : null],
    ]),
    reasonsOf(run),
    run.marks.length === 0 ? null : el("p", { class: "hint" }, said.marks(run.marks.map(markOf).join(", "))),
    el("p", { class: "row" },
      el("a", { href: `#/agent/${part(run.agent_id)}` }, said.toAgent),
      run.merged_into === null ? null : el("a", { href: `#/why/run/${part(run.merged_into)}` }, said.merged),
      copyId(run.id, said.id)));
}

/** The question and the answer. */
function exchange(run, agent) {
  const { by = null, asked = null, answered = null } = run.preview ?? {};
  return [
    asked === null ? null : el("div", {}, el("p", { class: "hint" }, said.asked(by?.name || words.names.unnamed)), el("blockquote", {}, asked)),
    answered === null ? null : el("div", {}, el("p", { class: "hint" }, said.answered(agent.name)), el("blockquote", {}, answered)),
  ];
}

function readersOf({ readers }, names) {
  return readers.open ? said.everyone : readers.people.map((id) => names.get(id)).join(", ");
}

function markOf(mark) { return words.marks[mark] ?? text(mark); }

function text(value) { return typeof value === "string" ? value : JSON.stringify(value); }

// ---------------------------------------------------------------------- the prompt

/** A prompt as bars of tokens; each section opens to its words, its source and why it may be shown. */
export function promptCard(prompt, title) {
  const most = Math.max(...prompt.sections.map((section) => section.tokens), 1);
  const share = prompt.cached_share;
  return card(title,
    el("p", { class: "hint" }, said.tokensInAll(number(prompt.total_tokens)), " ",
      share === null || share === undefined ? null : said.cachedShare(number(Math.round(100 * share)))),
    share === null || share === undefined ? null : el("p", { class: "legends" },
      el("span", { class: "legend marked" }, said.fromCache), el("span", { class: "legend fresh" }, said.fresh)),
    el("ol", { class: "sections" }, prompt.sections.map((section) => el("li", {}, sectionOf(section, most)))),
    prompt.marks.length === 0 ? null : el("p", { class: "hint" }, said.marks(prompt.marks.map(markOf).join(", "))));
}

function sectionOf(section, most) {
  const cached = section.cached_tokens ?? 0;
  return el("details", { class: "section" },
    el("summary", {}, el("span", { class: "name" }, section.name),
      el("span", { class: "size" }, cached > 0 ? said.tokensCached(number(section.tokens), number(cached)) : said.tokens(number(section.tokens))),
      bar(section.tokens, most, section.cached_tokens ?? null)),
    el("dl", { class: "origin" },
      el("dt", {}, said.source), el("dd", {}, section.source),
      el("dt", {}, said.mayBeShown), el("dd", {}, section.may_be_shown)),
    verbatim(section.text, section.name),
    section.entries.length === 0 ? null : entriesOf(section));
}

/** Where each entry of a section comes from, and why it may be shown here. */
function entriesOf(section) {
  return table(said.entriesOf(section.name), [said.entry, said.fromWhere, said.writtenAt, said.mayBeShown], section.entries.map((entry) => [
    [said.entryKinds[entry.kind] ?? entry.kind, entry.id === null ? null : [" ", copyId(entry.id)]],
    entry.chat_id === null ? said.fromNoChat
      : [el("a", { href: `#/transcripts/${part(entry.chat_id)}` }, said.fromChat), messagesOf(entry)],
    when(entry.at), entry.may_be_shown,
  ]));
}

function messagesOf({ from_seq: first, to_seq: last }) {
  if (first === null) return null;
  return [" ", first === last ? said.message(first) : said.messages(first, last ?? first)];
}

// ---------------------------------------------------------------------- steps

function stepsCard(run) {
  return card(said.steps, run.steps.length === 0 ? el("p", { class: "empty" }, said.noSteps)
    : el("ol", { class: "steps" }, run.steps.map((step) => el("li", {}, stepOf(step)))));
}

function stepOf(step) {
  const results = new Map((step.results ?? []).map((result) => [result.call_id, result]));
  return [
    el("h3", {}, said.step(step.n, step.model)),
    el("p", { class: "hint" }, said.stepCost(took(step.started_at, step.ended_at), number(step.usage.input_tokens),
      number(step.usage.cached_tokens), number(step.usage.output_tokens), amount(step.money))),
    noteOf(step) === null ? null : el("p", { class: "notice" }, noteOf(step)),
    step.fault === null ? null : el("p", { class: "notice" }, said.fault(text(step.fault))),
    step.text === "" ? null : el("blockquote", {}, step.text),
    step.tool_calls.map((call) => toolCall(call, results.get(call.id))),
    step.follow_up === null ? null : el("p", { class: "hint" }, said.followUp(step.follow_up)),
  ];
}

/** What the models of a local stack did with the prompt; null for another model. */
function noteOf({ model, usage }) {
  if (model === SCRIPTED) return said.scripted;
  if (model !== SMALL) return null;
  return usage.input_tokens === 0 ? said.fixed : said.small;
}

function toolCall(call, result) {
  return el("div", { class: "tool" },
    el("h4", {}, result ? said.toolWith(call.name, result.status) : said.tool(call.name)),
    result?.usage ? el("p", { class: "hint" }, said.callUsage(result.usage)) : null,
    verbatim(readable(call.arguments), said.arguments(call.name)),
    result ? verbatim(readable(result.content), said.result(call.name)) : null);
}

/** JSON with indents; other texts as they are. */
function readable(content) {
  try {
    return JSON.stringify(JSON.parse(content), null, 2);
  } catch {
    return content;
  }
}

// ---------------------------------------------------------------------- comparison

function comparison(api, run, reason) {
  if (run.previous_run_id === null) return card(said.compare, el("p", { class: "empty" }, said.noPrevious));
  const previous = `#/why/run/${part(run.previous_run_id)}`;
  return card(said.compare,
    el("p", {}, el("a", { href: previous }, said.toPrevious)),
    lazy(said.differences, async () => {
      const before = await readRun(api, run.previous_run_id, reason);
      if (before.prompt === null) return el("p", { class: "empty" }, said.noPrompt);
      return promptDifference(before.prompt, run.prompt);
    }));
}

/** The sections of two prompts that differ, each line by line. */
function promptDifference(before, after) {
  const old = new Map(before.sections.map((section) => [section.name, section.text]));
  const now = new Map(after.sections.map((section) => [section.name, section.text]));
  const names = [...new Set([...now.keys(), ...old.keys()])];
  const same = names.filter((name) => old.get(name) === now.get(name));
  return [
    names.filter((name) => !same.includes(name)).map((name) => el("section", {},
      el("h3", {}, !old.has(name) ? said.newSection(name) : now.has(name) ? name : said.goneSection(name)),
      difference(old.get(name) ?? "", now.get(name) ?? ""))),
    same.length === 0 ? null : el("p", { class: "hint" }, said.sameSections(same.join(", "))),
  ];
}

// ---------------------------------------------------------------------- run again

/** The run's prompt with edits: the system prompt, and any number of sections. */
function replay(api, run, agent, reason) {
  const systemPrompt = editOf(said.systemPrompt, agent.system_prompt, (text) => ({ system_prompt: text }));
  const edits = [systemPrompt];
  for (const section of run.prompt.sections) {
    if (section.text === "" || section.name === IDENTITY) continue; // sent as messages; holds the system prompt
    edits.push(editOf(section.name, section.text, (text) => ({ sections: { [section.name]: text } })));
  }
  const place = el("div", { class: "stack" });

  async function again() {
    const answer = await api.post(pathOf(run.id, "/replay", reason), merged(edits.map((edit) => edit.given())));
    const { system_prompt: tried = null } = systemPrompt.given();
    fill(place, answerOf(run, answer), tried === null ? null : keepPrompt(api, agent, tried));
    return said.replayed;
  }
  return card(said.again, el("p", { class: "hint" }, said.againAbout),
    form(el("fieldset", {}, el("legend", {}, said.edit), el("ul", { class: "edits" }, edits.map((edit) => el("li", {}, edit.node)))),
      run.steps.some((step) => step.model === SCRIPTED) ? said.runWithMine : said.runAgain, again), place);
}

/** A button that makes a tried system prompt the agent's own. */
function keepPrompt(api, agent, tried) {
  const place = outcome();
  const keep = async () => {
    await api.patch(`/v1/agents/${part(agent.id)}`, { system_prompt: tried });
    return [said.kept, " ", el("a", { href: `#/agent/${part(agent.id)}` }, said.toAgent)];
  };
  return el("div", { class: "stack" }, el("div", {}, action(said.keep, keep, place, { class: "primary" }), " ", tryFirst(agent, tried)), place);
}

/** A box to check and, if checked, the text to edit; `given()` is the part of the request's body. */
function editOf(name, text, body) {
  const control = el("textarea", { rows: 8, value: text, spellcheck: "false" });
  const editor = field(said.newText(name), control);
  editor.hidden = true;
  const chosen = el("input", { type: "checkbox", on: { change: () => { editor.hidden = !chosen.checked; } } });
  const label = el("label", { class: "check" }, chosen, el("span", {}, name));
  return { node: [label, editor], given: () => (chosen.checked ? body(control.value) : {}) };
}

/** One body of many; their sections are put together. */
function merged(bodies) {
  const sections = Object.assign({}, ...bodies.map((body) => body.sections ?? {}));
  return { ...Object.assign({}, ...bodies), ...(Object.keys(sections).length > 0 ? { sections } : {}) };
}

function answerOf(run, answer) {
  const before = run.steps.findLast((step) => step.text !== "")?.text ?? "";
  return [
    el("h3", {}, said.newAnswer),
    answer.fault === null ? null : el("p", { class: "notice" }, said.fault(text(answer.fault))),
    el("blockquote", {}, answer.text || said.noText),
    answer.tool_calls.map((call) => toolCall(call)),
    el("p", { class: "hint" }, said.stepCost(took(answer.started_at, answer.ended_at), number(answer.usage.input_tokens),
      number(answer.usage.cached_tokens), number(answer.usage.output_tokens), amount(answer.money))),
    el("h3", {}, said.against), difference(before, answer.text),
  ];
}
