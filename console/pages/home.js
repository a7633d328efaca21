// The first page of an operator: status, today's use, agents at work, and a new agent.
import { el, field, fill } from "../dom.js";
import { words } from "../words.js";

const AGENTS = 10; // whose runs are read
const WORKING = new Set(["queued", "running", "waiting"]);
const said = words.pages.home;
const number = new Intl.NumberFormat();

async function show(main, _args, context) {
  const { api } = context;
  const place = el("div", { class: "cards" });
  fill(main, el("h1", {}, said.name), place);
  const [up, usage, pauses, agents, lines] = await Promise.all([
    fetch("/healthz").then((answer) => answer.ok, () => false),
    api.get("/v1/usage?by=tenant"), api.get("/v1/pauses"), api.get("/v1/agents?limit=100"), api.get("/v1/lines?limit=100"),
  ]);
  const work = el("ul", { class: "plain" });
  fill(place,
    card(said.status,
      el("ul", { class: "plain" },
        light(up, up ? said.apiUp : said.apiDown),
        light(context.config.live, context.config.live ? said.liveUp : said.liveDown),
        paused(pauses))),
    card(said.today, el("dl", { class: "figures" }, figures(usage.total))),
    card(said.work, work,
      agents.items.length > AGENTS ? el("p", { class: "hint" }, said.workOfFirst(AGENTS)) : null),
    card(said.lines, lineList(lines.items, agents.items)),
    newAgent(context));
  const entries = await Promise.all(agents.items.slice(0, AGENTS).map((agent) => atWork(api, agent)));
  fill(work, entries.flat().length > 0 ? entries : el("li", {}, said.idle));
}

function card(title, ...children) {
  return el("section", { class: "card" }, el("h2", {}, title), children);
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
    [said.answers, number.format(total.calls)], [said.input, number.format(total.input_tokens)],
    [said.cached, number.format(total.cached_tokens)], [said.output, number.format(total.output_tokens)],
    [said.texts, number.format(total.texts)],
    [said.money, total.money ? said.amount(number.format(total.money.amount), total.money.currency) : said.noPrices],
  ];
  return rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
}

function lineList(lines, agents) {
  if (lines.length === 0) return el("p", {}, said.noLines);
  const names = new Map(agents.map((agent) => [agent.id, agent.name]));
  return el("ul", { class: "plain" }, lines.map((line) =>
    el("li", {}, said.lineOf(line.phone, names.get(line.agent_id) ?? line.agent_id))));
}

async function atWork(api, agent) {
  const { items } = await api.get(`/v1/agents/${encodeURIComponent(agent.id)}/runs?limit=20`);
  return items.filter((run) => WORKING.has(run.status)).map((run) =>
    el("li", {}, said.working(agent.name, run.meaning ?? run.status)));
}

function newAgent(context) {
  const name = el("input", { required: true, maxlength: 200, autocomplete: "off", placeholder: said.agentNamePlaceholder });
  const purpose = el("textarea", { rows: 4, required: true, placeholder: said.purposePlaceholder });
  const line = el("input", { type: "tel", autocomplete: "off" });
  const result = el("p", { role: "status" });
  const form = el("form", { on: { submit } },
    field(said.agentName, name), field(said.purpose, purpose, said.purposeHint), field(said.line, line, said.lineHint),
    el("button", { class: "primary" }, said.create), result);

  async function submit(event) {
    event.preventDefault();
    try {
      fill(result, ...await create(context, name.value.trim(), purpose.value.trim(), line.value.trim()));
      form.reset();
    } catch (error) {
      fill(result, error.message);
    }
  }
  return el("section", { class: "card wide" }, el("h2", {}, said.newAgent), form);
}

/** Create an agent and, with a number, its line; return what to say. */
async function create({ api, config }, name, purpose, phone) {
  const agent = await api.post("/v1/agents", { name, system_prompt: purpose, reply_mode: "text" });
  const chat = el("a", { href: "#/chats" }, said.chat);
  if (phone === "") return [said.created(agent.name), " ", chat];
  try {
    await api.post("/v1/lines", { phone, agent_id: agent.id });
  } catch (error) {
    return [said.withoutLine(agent.name, error.message)];
  }
  const text = config.local ? el("a", { href: "#/phone" }, said.text) : null;
  return [said.created(agent.name), " ", text, text ? " " : null, chat];
}

export default { name: "home", needs: "admin", show };
