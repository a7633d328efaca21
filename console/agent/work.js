// What an agent does: plans on a timeline, and threads on a board.
import { timelineChart } from "../charts.js";
import { el, field, select } from "../dom.js";
import { action, card, facts, form, more, outcome, part, waitUntil, when } from "../parts.js";
import { giveReason } from "../reason.js";
import { words } from "../words.js";
import { madeIn, pathOf } from "./items.js";
import { cronWords, placesOf, planForm } from "./plan_form.js";

const MOST = 500;
const LENGTHS = { concern: 300, goal: 1000, deliverable: 1000, approach: 2000, progress: 2000, blocking: 500 };
const DETAILS = Object.keys(LENGTHS).slice(1);
const LATER = new Set(["progress", "blocking"]); // which a new thread does not have
const said = words.pages.agent.work;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", year: "numeric" });

// ---------------------------------------------------------------------- plans

export async function plans(api, agent, scope, again) {
  const found = await api.items(pathOf(agent, "plans", scope), MOST);
  const next = found.filter((plan) => plan.next_at !== null).sort((one, other) => one.next_at.localeCompare(other.next_at));
  const ended = found.filter((plan) => plan.next_at === null);
  const open = Object.keys(scope).length === 0;
  const place = open ? await placesOf(api, agent) : null;
  const save = (of) => async (plan, given) => {
    const { reason = scope.reason, ...target } = given ?? of;
    await api.post(pathOf(agent, "plans", { reason }), { ...target, ...plan });
    if (open && given !== null && target.user_id) showPlansOf(agent, target.user_id, reason);
    else await again();
    return "";
  };
  return [
    card(said.upcoming, next.length === 0 ? el("p", { class: "empty" }, said.noPlans) : [
      timelineChart(said.now, next.map((plan) => ({ label: plan.name, at: new Date(plan.next_at) }))),
      byDay(next).map(([title, items]) => [el("h3", {}, title), el("ol", { class: "timeline" }, items.map((plan) => el("li", {}, planOf(plan))))]),
    ]),
    card(said.newPlan, planForm(null, place, save(targetOf(null, scope)))),
    ended.length === 0 ? null
      : card(said.endedPlans, el("ol", { class: "timeline" }, ended.map((plan) => el("li", {}, planOf(plan))))),
  ];

  function planOf(plan) {
    const place = outcome(), active = plan.status === "active";
    const cancel = async () => {
      await api.delete(pathOf(agent, `plans/${part(plan.id)}`, scope));
      await again();
    };
    return [
      el("p", { class: "moment" }, active ? [when(plan.next_at, clock), ` (${waitUntil(plan.next_at)})`] : when(plan.ended_at)),
      el("h4", {}, plan.name),
      el("p", { class: "text" }, plan.instruction),
      el("p", { class: "hint" }, plan.cron ? said.cron(cronWords(plan.cron), plan.time_zone) : said.once, ", ", said.planStates[plan.status], ", ", madeIn(plan),
        plan.meaning === null ? "" : `, ${plan.meaning}`),
      el("p", { class: "hint" }, speaks(plan, scope)),
      active ? el("div", { class: "row start" },
        action(said.cancel, cancel, place, { "aria-label": said.cancelPlan(plan.name) }),
        more(said.change, planForm(plan, null, save(targetOf(plan, scope))))) : null,
      place,
    ];
  }
}

/** Go to the plans of a person, for which a reason was given. */
function showPlansOf(agent, userId, reason) {
  giveReason(`user/${userId}`, reason);
  location.hash = `#/agent/${part(agent.id)}/plans/user/${part(userId)}`;
}

/** Where a plan speaks: in its chat, to its person, or nowhere by itself. */
function speaks({ source_chat_id: chat }, scope) {
  if (chat) return el("a", { href: `#/transcripts/${part(chat)}` }, said.speaksInChat);
  return scope.user_id ? said.speaksToPerson : said.speaksNowhere;
}

/** The chat or the person that a plan is for. */
function targetOf(plan, scope) {
  const chat = plan?.source_chat_id ?? scope.chat_id;
  return chat ? { chat_id: chat } : { user_id: scope.user_id };
}

/** Plans by the local day on which they fire: pairs of a title and the plans. */
function byDay(plans) {
  const days = new Map();
  for (const plan of plans) {
    const title = day.format(new Date(plan.next_at));
    days.set(title, [...days.get(title) ?? [], plan]);
  }
  return [...days];
}

// ---------------------------------------------------------------------- threads

export async function threads(api, agent, scope, again) {
  const found = await api.items(pathOf(agent, "threads", scope), MOST);
  const create = async (thread) => {
    await api.post(`/v1/agents/${part(agent.id)}/threads`, thread);
    await again();
  };
  return [
    el("div", { class: "board" }, ["open", "completed", "archived"].map((status) => {
      const items = found.filter((thread) => thread.status === status);
      return el("section", { class: "column" }, el("h2", {}, said.threadStates(status, items.length)),
        items.length === 0 ? el("p", { class: "empty" }, said.noThreads)
          : el("ul", { class: "items" }, items.map((thread) => el("li", { class: "ticket" }, threadOf(thread)))));
    })),
    Object.keys(scope).length > 0 ? null : card(said.newThread, threadForm(null, create)),
  ];

  function threadOf(thread) {
    const place = outcome();
    const path = pathOf(agent, `threads/${part(thread.id)}`, scope);
    const change = async (body) => {
      await api.patch(path, body);
      await again();
    };
    const remove = async () => {
      await api.delete(path);
      await again();
    };
    return [
      el("h3", {}, thread.concern, thread.active ? el("span", { class: "badge" }, said.activeThread) : null),
      facts([...DETAILS.map((name) => [said.threadFields[name], thread[name]]),
        [said.evidence, thread.evidence], [said.learned, thread.learned], [said.documents, thread.documents.join(", ")], [said.priorityField, thread.priority]]),
      el("p", { class: "hint" }, when(thread.started_at)),
      thread.status === "open" ? [
        el("div", { class: "row start" },
          thread.active ? null : action(said.makeActive, () => change({ active: true }), place),
          more(said.change, threadForm(thread, change)),
          more(said.end, endForm(change))),
      ] : action(said.delete, remove, place, { "aria-label": said.deleteThread(thread.concern) }),
      place,
    ];
  }
}

/** A form for a thread, or for a new one; `save` gets its values. */
function threadForm(thread, save) {
  const names = ["concern", ...DETAILS].filter((name) => thread !== null || !LATER.has(name));
  const fields = names.map((name) =>
    [name, el("textarea", { rows: 2, maxlength: LENGTHS[name], required: name === "concern", value: thread?.[name] ?? "" })]);
  const priority = el("input", { type: "number", min: 1, max: 5, required: true, value: thread?.priority ?? 2 });
  return form([fields.map(([name, control]) => field(said.threadFields[name], control)), field(said.priorityField, priority, said.priorityHint)],
    thread === null ? said.create : said.save,
    () => save({ ...Object.fromEntries(fields.map(([name, control]) => [name, control.value.trim() || null])), priority: Number(priority.value) }));
}

/** A form that ends a thread, with what the agent may keep of it. */
function endForm(change) {
  const evidence = el("textarea", { rows: 2, maxlength: 4000 }), learned = el("textarea", { rows: 2, maxlength: 4000 });
  const status = select([["completed", said.complete], ["archived", said.archive]], "completed", () => {});
  return form([field(said.ending, status), field(said.evidence, evidence), field(said.learned, learned)], said.endNow,
    () => change({ status: status.value, evidence: evidence.value.trim() || null, learned: learned.value.trim() || null }));
}
