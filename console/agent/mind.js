// What an agent keeps in mind: memories and goals.
import { withQuery } from "../api.js";
import { el, field, select } from "../dom.js";
import { action, card, form, more, outcome, paged, part, when } from "../parts.js";
import { madeIn, pathOf, sourceOf } from "./items.js";
import { words } from "../words.js";

const said = words.pages.agent.mind;

// ---------------------------------------------------------------------- memories

export async function memories(api, agent, scope, again) {
  const newText = el("textarea", { rows: 2, required: true });
  const kind = select([["core", said.kinds.core], ["journal", said.kinds.journal]], "core", () => {});
  const add = async () => {
    await api.post(`/v1/agents/${part(agent.id)}/memories`, { text: newText.value.trim(), kind: kind.value });
    await again();
  };
  const open = Object.keys(scope).length === 0;
  const filters = [{ state: "live" }, { state: "ended" }, { state: "live", rests_on: "one_person" }];
  const [active, ended, doubtful] = await Promise.all(filters.map((filter) =>
    paged(api, pathOf(agent, "memories", scope, filter), (memory) => memoryOf(api, agent, scope, again, memory), said.noMemories)));
  return [
    open ? card(said.ofOnePerson, doubtful) : null,
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
    el("p", { class: "hint" }, said.kinds[memory.kind] ?? memory.kind, memory.constitutional ? `, ${said.constitutional}` : "",
      memory.confirmed ? `, ${said.confirmed}` : "", memory.public ? `, ${said.public}` : "", ", ",
      when(memory.created_at), ", ", sourceOf(memory.source),
      memory.superseded_by === null ? "" : `, ${said.superseded}`, memory.deleted_at === null ? "" : `, ${said.removed}`,
      memory.expires_at === null ? null : [", ", said.fades, " ", when(memory.expires_at)]),
    ended ? action(said.restore, done(() => api.post(at("/restore"))), place)
      : el("div", { class: "row start" },
        more(said.replace,
          form(field(said.newWords, newWords), said.replaceNow, done(() => api.post(at("/supersede"), { text: newWords.value.trim() })))),
        memory.confirmed ? null : action(said.confirm, done(() => api.patch(at(""), { confirmed: true })), place),
        Object.keys(scope).length > 0 ? null
          : action(memory.public ? said.hide : said.show, done(() => api.patch(at(""), { public: !memory.public })), place),
        action(said.remove, done(() => api.delete(at(""))), place)),
    place,
  ];
}

// ---------------------------------------------------------------------- goals

export async function goals(api, agent, scope, again) {
  const list = await paged(api, pathOf(agent, "goals", scope), (goal) => goalOf(api, pathOf(agent, `goals/${part(goal.id)}`, scope), goal, again), said.noGoals);
  const add = async (goal) => {
    await api.post(`/v1/agents/${part(agent.id)}/goals`, goal);
    await again();
  };
  return [
    card(said.goals, list),
    Object.keys(scope).length > 0 ? null : card(said.newGoal, goalForm(null, said.add, add)),
  ];
}

function goalOf(api, path, goal, again) {
  const place = outcome();
  const change = async (body) => {
    await api.patch(path, body);
    await again();
  };
  const remove = async () => {
    await api.delete(path);
    await again();
  };
  return [
    el("p", { class: "text" }, goal.text),
    el("p", { class: "hint" }, said.priority(goal.priority), ", ", said.goalStates[goal.status], ", ", when(goal.created_at), ", ", madeIn(goal)),
    el("div", { class: "row start" },
      goal.status === "active" ? [
        action(said.completed, () => change({ status: "completed" }), place),
        action(said.abandoned, () => change({ status: "abandoned" }), place),
        more(said.change, goalForm(goal, said.save, change)),
      ] : [
        action(said.reopen, () => change({ status: "active" }), place),
        action(said.delete, remove, place),
      ]),
    place,
  ];
}

/** A form for a goal, or for a new one; `save` gets its values. */
function goalForm(goal, label, save) {
  const text = el("textarea", { rows: 2, required: true, maxlength: 1000, value: goal?.text ?? "" });
  const priority = el("input", { type: "number", min: 1, max: 5, required: true, value: goal?.priority ?? 2 });
  return form([field(said.text, text), field(said.priorityField, priority, said.priorityHint)], label,
    () => save({ text: text.value.trim(), priority: Number(priority.value) }));
}
