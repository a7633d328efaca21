// The first page of an operator: what needs a person of the team, status, today's use, agents at work, lines and waiting work.
import { el, fill } from "../dom.js";
import { localCall } from "../local.js";
import { chatName } from "../names.js";
import { amount, card, durationOf, number, part, table, when } from "../parts.js";
import { waitingWork } from "../waiting.js";
import { words } from "../words.js";

const CLOCK_SECONDS = 60, MOST_NAMES = 500, MOST_SHOWN = 5;
const RECENT_MS = 24 * 60 * 60_000; // a failure needs somebody for a day
const UNANSWERED = new Set(["run", "delivery"]); // kinds of work for which somebody waits
const said = words.pages.home;

async function show(main, _args, context) {
  const { api } = context;
  const place = el("div", { class: "cards" }, el("p", { class: "loading" }, words.loading));
  fill(main, el("h1", {}, said.name), place);
  const [team, system, backlog, queues, pauses, agents, lines] = await Promise.all([
    waitingWork(api),
    api.get("/v1/system"), api.get("/v1/system/backlog"), context.config.local ? localCall("GET", "queues") : null,
    api.get("/v1/pauses"), api.items("/v1/agents", MOST_NAMES), api.items("/v1/lines", MOST_NAMES),
  ]);
  const names = new Map(agents.map((agent) => [agent.id, agent.name]));
  fill(place,
    wideCard(said.needsYou, needs(team, system, backlog, names)),
    card(said.status, el("ul", { class: "plain" }, status(system, context.config), paused(pauses))),
    card(said.today, el("dl", { class: "figures" }, figures(system.today))),
    card(said.work, el("ul", { class: "plain" }, work(system.runs, names))),
    card(said.lines, lineList(lines, names)),
    card(said.agents, el("p", {}, said.countAgents(number(agents.length))), el("p", {}, el("a", { href: "#/agent" }, said.toAgents))),
    wideCard(said.backlog, backlogOf(backlog), queues === null ? null : queuesOf(queues)));
}

/** What waits for a person of the team: chats, calls to approve, a failure, and messages without an answer. */
function needs({ chats, approvals }, { now, last_error: error }, backlog, names) {
  const agent = (id) => names.get(id) ?? words.run.gone;
  const failed = error !== null && new Date(now) - new Date(error.at) < RECENT_MS ? [error] : [];
  const late = backlog.items.filter((row) => UNANSWERED.has(row.kind) && row.overdue > 0);
  const rows = [
    shownOf(chats, "#/desk", (each) => [`#/desk/${part(each.chat_id)}`, said.needs.chat(chatName(each)), each.since]),
    shownOf(approvals, "#/desk", (each) => [`#/desk/approvals/${part(each.id)}`, said.needs.call(agent(each.agent_id), each.tool), each.created_at]),
    shownOf(failed, "#/why", (each) => [`#/why/run/${part(each.run_id)}`, said.needs.failed(agent(each.agent_id), each.meaning ?? each.error ?? ""), each.at]),
    shownOf(late, "#/why", (row) => ["#/why", said.needs.unanswered[row.kind](counted(row.overdue, row.complete)), row.oldest_due_at]),
  ].flat();
  return rows.length === 0 ? el("p", { class: "empty" }, said.needs.nothing) : el("ul", { class: "plain" }, rows);
}

/** The first items, each as a link with its time, and how many more there are. */
function shownOf(items, all, linkOf) {
  const rows = items.slice(0, MOST_SHOWN).map((item) => {
    const [href, text, since] = linkOf(item);
    return el("li", {}, el("a", { href }, text), " ", when(since));
  });
  const rest = items.length - rows.length;
  return rest > 0 ? [...rows, el("li", {}, el("a", { href: all }, said.needs.more(rest)))] : rows;
}

/** Whether the model answers and what to do, the live channel, and the clock. */
function status({ now, model }, config) {
  const asked = model.reachable ? said.modelUp(model.name) : said.modelDown(model.name, model.action ?? model.code);
  return [
    light(model.reachable, asked),
    light(config.live, config.live ? said.liveUp : said.liveDown),
    clock(now, config.local),
  ];
}

/** How far the stack's clock is from this computer's; a local one may be turned. */
function clock(now, local) {
  const ahead = (new Date(now) - Date.now()) / 1000;
  if (Math.abs(ahead) < CLOCK_SECONDS) return light(true, said.clock);
  const time = when(now).textContent;
  return light(local, ahead > 0 ? said.clockAhead(time, durationOf(ahead)) : said.clockBehind(time, durationOf(-ahead)));
}

function work(runs, names) {
  if (runs.length === 0) return el("li", {}, said.idle);
  return runs.map((run) => el("li", {},
    said.working(names.get(run.agent_id) ?? words.run.gone, run.meaning ?? words.runStatuses[run.status])));
}

/** The waiting work of the tenant by kind; kinds without work are left out. */
function backlogOf({ items }) {
  const rows = items.filter((row) => row.later + row.due > 0 || !row.complete).map((row) => [
    said.kinds[row.kind] ?? row.kind, counted(row.later, row.complete), counted(row.due, row.complete),
    counted(row.overdue, row.complete), when(row.oldest_due_at),
  ]);
  return table(said.backlog, [said.kind, said.later, said.due, said.overdue, said.oldest], rows, said.noBacklog);
}

function counted(count, complete) {
  return complete ? number(count) : said.atLeast(number(count));
}

/** The depths of a local stack's queues; queues without jobs are left out. */
function queuesOf({ items }) {
  const rows = items.filter((queue) => queue.waiting + queue.delayed + queue.running > 0)
    .map((queue) => [queue.queue, ...[queue.waiting, queue.delayed, queue.running].map((count) => number(count))]);
  return [el("h3", {}, said.queues),
    table(said.queues, [said.queue, said.jobs, said.delayed, said.batches], rows, said.noJobs)];
}

function light(good, text) {
  return el("li", { class: good ? "good" : "bad" }, text);
}

/** What operators have paused, for the tenant or the stack. */
function paused({ tenant, stack }) {
  const kinds = Object.keys(said.paused).filter((kind) => tenant[kind] || stack[kind]);
  return kinds.map((kind) => light(false, said.paused[kind]));
}

function figures(total) {
  const rows = [
    [said.answers, number(total.calls)], [said.input, number(total.input_tokens)],
    [said.cached, number(total.cached_tokens)], [said.output, number(total.output_tokens)],
    [said.texts, number(total.texts)], [said.money, amount(total.money)],
  ];
  return rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
}

function lineList(lines, names) {
  if (lines.length === 0) return el("p", {}, said.noLines);
  return el("ul", { class: "plain" }, lines.map((line) =>
    el("li", {}, said.lineOf(line.phone, names.get(line.agent_id) ?? words.run.gone))));
}

/** A card over all columns. */
function wideCard(title, ...children) {
  return el("section", { class: "card wide" }, el("h2", {}, title), children);
}

export default { name: "home", needs: "support", show };
