// What an agent keeps: memories, goals, plans on a timeline, and threads on a board.
import { withQuery } from "../api.js";
import { el, field, select } from "../dom.js";
import { action, card, facts, form, outcome, paged, part, when } from "../parts.js";
import { words } from "../words.js";

const MOST = 500;
const said = words.pages.agent.mind;

/** Return the path of an agent's items, for the person or the chat whose items they are. */
function pathOf(agent, kind, scope, more = {}) {
  return withQuery(`/v1/agents/${part(agent.id)}/${kind}`, { ...scope, ...more });
}

/** Where an item comes from: a run, a chat, or an operator. */
function sourceOf({ run_id: run, chat_id: chat, from_seq: from, to_seq: to }) {
  if (run) return el("a", { href: `#/why/run/${part(run)}` }, said.fromRun);
  if (chat) return el("a", { href: `#/transcripts/${part(chat)}` }, from ? said.fromMessages(from, to) : said.fromChat);
  return said.fromOperator;
}

function madeIn(item) { return sourceOf({ run_id: item.source_run_id, chat_id: item.source_chat_id }); }

// ---------------------------------------------------------------------- memories

export async function memories(api, agent, scope, again) {
  const newText = el("textarea", { rows: 2, required: true });
  const kind = select([["core", said.kinds.core], ["journal", said.kinds.journal]], "core", () => {});
  const add = async () => {
    await api.post(`/v1/agents/${part(agent.id)}/memories`, { text: newText.value.trim(), kind: kind.value });
    await again();
  };
  const open = Object.keys(scope).length === 0;
  const [active, ended] = await Promise.all(["live", "ended"].map((state) =>
    paged(api, pathOf(agent, "memories", scope, { state }), (memory) => memoryOf(api, agent, scope, again, memory), said.noMemories)));
  return [
    card(said.activeMemories, active),
    card(said.endedMemories, ended),
    open ? card(said.newMemory, form([field(said.text, newText), field(said.kind, kind)], said.add, add)) : null,
  ];
}

function memoryOf(api, agent, scope, again, memory) {
  const place = outcome();
  const at = (verb) => pathOf(agent, `memories/${part(memory.id)}${verb}`, scope);
  const ended = memory.deleted_at !== null || memory.superseded_by !== null;
  const newWords = el("textarea", { rows: 2, value: memory.text, required: true });
  const done = (call) => async () => {
    await call();
    await again();
  };
  return [
    el("p", { class: "text" }, memory.text),
    el("p", { class: "hint" }, said.kinds[memory.kind] ?? memory.kind, memory.constitutional ? `, ${said.constitutional}` : "", ", ",
      when(memory.created_at), ", ", sourceOf(memory.source),
      memory.superseded_by === null ? "" : `, ${said.superseded}`, memory.deleted_at === null ? "" : `, ${said.removed}`,
      memory.expires_at === null ? null : [", ", said.fades, " ", when(memory.expires_at)]),
    ended ? action(said.restore, done(() => api.post(at("/restore"))), place)
      : el("div", { class: "row start" },
        el("details", { class: "more" }, el("summary", {}, said.replace),
          form(field(said.newWords, newWords), said.replaceNow, done(() => api.post(at("/supersede"), { text: newWords.value.trim() })))),
        action(said.remove, done(() => api.delete(at(""))), place)),
    place,
  ];
}

// ---------------------------------------------------------------------- goals

export async function goals(api, agent, scope, again) {
  const text = el("input", { required: true, maxlength: 1000, autocomplete: "off" });
  const priority = el("input", { type: "number", min: 1, max: 5, value: "2" });
  const add = async () => {
    await api.post(`/v1/agents/${part(agent.id)}/goals`, { text: text.value.trim(), priority: Number(priority.value) });
    await again();
  };
  const list = await paged(api, pathOf(agent, "goals", scope), (goal) => {
    const place = outcome();
    const end = (status) => async () => {
      await api.patch(pathOf(agent, `goals/${part(goal.id)}`, scope), { status });
      await again();
    };
    return [
      el("p", { class: "text" }, goal.text),
      el("p", { class: "hint" }, said.priority(goal.priority), ", ", said.goalStates[goal.status], ", ", when(goal.created_at), ", ", madeIn(goal)),
      goal.status !== "active" ? null : el("div", { class: "row start" },
        action(said.completed, end("completed"), place), action(said.abandoned, end("abandoned"), place)),
      place,
    ];
  }, said.noGoals);
  return [
    card(said.goals, list),
    Object.keys(scope).length > 0 ? null
      : card(said.newGoal, form(el("div", { class: "row" }, field(said.text, text), field(said.priorityField, priority)), said.add, add)),
  ];
}

// ---------------------------------------------------------------------- plans

export async function plans(api, agent, scope, again) {
  const found = await api.items(pathOf(agent, "plans", scope), MOST);
  const next = found.filter((plan) => plan.next_at !== null).sort((one, other) => one.next_at.localeCompare(other.next_at));
  const ended = found.filter((plan) => plan.next_at === null);
  const line = (items) => el("ol", { class: "timeline" }, items.map((plan) => el("li", {}, planOf(plan))));
  return [
    card(said.upcoming, next.length === 0 ? el("p", { class: "empty" }, said.noPlans) : line(next)),
    ended.length === 0 ? null : card(said.endedPlans, line(ended)),
  ];

  function planOf(plan) {
    const place = outcome();
    const cancel = async () => {
      await api.delete(pathOf(agent, `plans/${part(plan.id)}`, scope));
      await again();
    };
    return [
      el("p", { class: "moment" }, plan.next_at ? when(plan.next_at) : when(plan.ended_at)),
      el("h3", {}, plan.name),
      el("p", { class: "text" }, plan.instruction),
      el("p", { class: "hint" }, plan.cron ? said.cron(plan.cron, plan.time_zone) : said.once, ", ", said.planStates[plan.status], ", ", madeIn(plan),
        plan.meaning === null ? "" : `, ${plan.meaning}`),
      plan.status === "active" ? action(said.cancel, cancel, place, { "aria-label": said.cancelPlan(plan.name) }) : null,
      place,
    ];
  }
}

// ---------------------------------------------------------------------- threads

export async function threads(api, agent, scope, again) {
  const found = await api.items(pathOf(agent, "threads", scope), MOST);
  return el("div", { class: "board" }, ["open", "completed", "archived"].map((status) => {
    const items = found.filter((thread) => thread.status === status);
    return el("section", { class: "column" }, el("h2", {}, said.threadStates(status, items.length)),
      items.length === 0 ? el("p", { class: "empty" }, said.noThreads)
        : el("ul", { class: "items" }, items.map((thread) => el("li", { class: "ticket" }, threadOf(thread)))));
  }));

  function threadOf(thread) {
    const place = outcome();
    const change = (body) => async () => {
      await api.patch(pathOf(agent, `threads/${part(thread.id)}`, scope), body);
      await again();
    };
    return [
      el("h3", {}, thread.concern, thread.active ? el("span", { class: "badge" }, said.activeThread) : null),
      facts([[said.aim, thread.goal], [said.deliverable, thread.deliverable], [said.progress, thread.progress],
        [said.blocking, thread.blocking], [said.evidence, thread.evidence], [said.learned, thread.learned],
        [said.documents, thread.documents.join(", ")], [said.priorityField, thread.priority]]),
      el("p", { class: "hint" }, when(thread.started_at)),
      thread.status !== "open" ? null : el("div", { class: "row start" },
        thread.active ? null : action(said.makeActive, change({ active: true }), place),
        action(said.complete, change({ status: "completed" }), place),
        action(said.archive, change({ status: "archived" }), place)),
      place,
    ];
  }
}
