// What an agent does: plans on a timeline, and threads on a board.
import { timelineChart } from "../charts.js";
import { el, field, select } from "../dom.js";
import { action, card, facts, form, more, outcome, part, waitUntil, when } from "../parts.js";
import { words } from "../words.js";
import { madeIn, pathOf } from "./items.js";

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
  const save = async (plan) => {
    await api.post(pathOf(agent, "plans", { reason: scope.reason }), plan);
    await again();
  };
  return [
    card(said.upcoming, next.length === 0 ? el("p", { class: "empty" }, said.noPlans) : [
      timelineChart(said.now, next.map((plan) => ({ label: plan.name, at: new Date(plan.next_at) }))),
      byDay(next).map(([title, items]) => [el("h3", {}, title), el("ol", { class: "timeline" }, items.map((plan) => el("li", {}, planOf(plan))))]),
    ]),
    card(said.newPlan, planForm(null, scope, save)),
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
      el("p", { class: "hint" }, plan.cron ? said.cron(plan.cron, plan.time_zone) : said.once, ", ", said.planStates[plan.status], ", ", madeIn(plan),
        plan.meaning === null ? "" : `, ${plan.meaning}`),
      active ? el("div", { class: "row start" },
        action(said.cancel, cancel, place, { "aria-label": said.cancelPlan(plan.name) }),
        more(said.change, planForm(plan, scope, save))) : null,
      place,
    ];
  }
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

/** A form for a plan, or for a new one. A plan of the same name is replaced. */
function planForm(plan, scope, save) {
  const name = el("input", { required: true, maxlength: 100, autocomplete: "off", value: plan?.name ?? "", readonly: plan !== null });
  const instruction = el("textarea", { rows: 3, required: true, maxlength: 4000, value: plan?.instruction ?? "" });
  const times = {
    run_after: field(said.delay, el("input", { autocomplete: "off", value: plan?.run_after ?? "" }), said.delayHint),
    scheduled_at: field(said.time, el("input", { type: "datetime-local", step: 1, value: localTime(plan?.scheduled_at) })),
    cron: el("div", { class: "row fields" },
      field(said.cronFields, el("input", { autocomplete: "off", spellcheck: "false", value: plan?.cron ?? "" }), said.cronHint),
      field(said.zone, el("input", { autocomplete: "off", value: plan?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone }))),
  };
  const inputs = (kind) => [...times[kind].querySelectorAll("input")];
  const choose = (kind) => {
    for (const [each, node] of Object.entries(times)) {
      node.hidden = each !== kind;
      for (const input of inputs(each)) input.required = each === kind;
    }
  };
  const kind = select(Object.keys(times).map((each) => [each, said.timings[each]]), plan?.cron ? "cron" : plan?.scheduled_at ? "scheduled_at" : "run_after", choose);
  choose(kind.value);
  const submit = () => {
    const [time, zone] = inputs(kind.value).map((input) => input.value.trim());
    return save({
      ...of(plan, scope), name: name.value.trim(), instruction: instruction.value.trim(),
      [kind.value]: kind.value === "scheduled_at" ? new Date(time).toISOString() : time,
      ...(zone === undefined ? {} : { time_zone: zone }),
    });
  };
  return form([field(said.name, name, plan === null ? said.nameHint : null), field(said.instruction, instruction),
    field(said.timing, kind), Object.values(times)], plan === null ? said.create : said.save, submit);
}

/** The chat or the person that a plan is for. */
function of(plan, scope) {
  const chat = plan?.source_chat_id ?? scope.chat_id;
  return chat ? { chat_id: chat } : { user_id: scope.user_id };
}

/** A time of the API as a `datetime-local` has it: in the browser's time zone. */
function localTime(text) {
  if (!text) return "";
  const at = new Date(text);
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
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
