// The runs of an agent on a day as a table: who asked, the first words, what came of it, and what it cost.
import { withQuery } from "./api.js";
import { el, field, fill, select } from "./dom.js";
import { agentsById } from "./names.js";
import { amount, card, form, noAgent, number, part, table, took, when } from "./parts.js";
import { askReason, reasonFor } from "./reason.js";
import { words } from "./words.js";

const MOST = 300;
const ASKS_TEAM = "ask_a_person"; // the tool
const LIVE = new Set(["queued", "running", "waiting"]);
const said = words.pages.why;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** Show the runs of an agent on a day; without an agent, those of the one that worked most today. */
export async function showRuns(main, api, agentId, day) {
  const agents = await agentsById(api);
  const current = agentId ?? await busiest(api, agents);
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about));
  if (current === null) {
    main.append(noAgent());
    return null;
  }
  const list = new RunsList(api, current, day);
  await list.read(reasonFor(list.subject));
  const agent = select([...agents.values()].map((each) => [each.id, each.name]), current, () => {});
  const chosen = el("input", { type: "date", value: day ?? "" });
  main.append(
    form([field(said.agent, agent), field(said.day, chosen)], said.show, () => {
      location.hash = `#/why/agent/${part(agent.value)}${chosen.value && `/${part(chosen.value)}`}`;
    }, { class: "filter" }),
    card(said.runsOf(agents.get(current)?.name ?? words.run.gone, day ?? words.time.today), list.root));
  return null;
}

/** The agent with the most tokens today, or else the first one. */
async function busiest(api, agents) {
  const { rows } = await api.get("/v1/usage?by=agent");
  return rows.find((row) => agents.has(row.key))?.key ?? agents.keys().next().value ?? null;
}

class RunsList {
  #api;
  #path;
  #runs = [];
  #person = "";
  #result = "any";

  constructor(api, agentId, day) {
    this.#api = api;
    this.#path = withQuery(`/v1/agents/${part(agentId)}/runs`, { day });
    this.subject = `runs/${agentId}/${day}`;
    this.filters = el("div", { class: "filter" });
    this.place = el("div", { class: "stack" });
    this.reason = el("div", {});
    this.root = el("div", { class: "stack" }, this.reason, this.filters, this.place);
  }

  /** Read the runs; with a reason, the private ones as well. */
  async read(reason) {
    this.#runs = await this.#api.items(withQuery(this.#path, { reason }), MOST);
    const withheld = this.#runs.filter((run) => run.withheld).length;
    fill(this.reason, withheld === 0 ? null : el("div", { class: "stack" },
      el("p", { class: "hint" }, said.someArePrivate(number(withheld))),
      reason === null ? askReason(said.whyPrivate, this.subject, async (given) => { await this.read(given); }) : null));
    this.#offer();
    this.#show();
  }

  #offer() {
    const people = [...new Set(this.#runs.map(personOf).filter(Boolean))].sort();
    const of = (name, value, options, choose) => field(name, select(options, value, (chosen) => {
      choose(chosen);
      this.#show();
    }));
    this.filters.hidden = this.#runs.length === 0;
    fill(this.filters,
      of(said.person, this.#person, [["", said.anyone], ...people.map((each) => [each, each])], (value) => { this.#person = value; }),
      of(said.result, this.#result, Object.keys(said.results).map((each) => [each, said.results[each]]), (value) => { this.#result = value; }));
  }

  #show() {
    const shown = this.#runs.filter((run) => (this.#person === "" || personOf(run) === this.#person)
      && (this.#result === "any" || resultOf(run) === this.#result));
    fill(this.place,
      table(said.runs, [said.at, said.person, said.first, said.result, said.took, said.tokens, said.cost], shown.map(row),
        this.#runs.length === 0 ? said.noRuns : said.none),
      this.#runs.length < MOST ? null : el("p", { class: "hint" }, said.most(number(MOST))));
  }
}

function personOf(run) { return run.preview?.by?.name || null; }

/** What came of a run, as the filter names it. */
function resultOf(run) {
  if (LIVE.has(run.status)) return "atWork";
  if (run.status === "failed") return "failed";
  return run.reason === null ? "answered" : "silent";
}

function row(run) {
  const { preview, usage } = run;
  return [
    el("a", { href: `#/why/run/${part(run.id)}` }, when(run.created_at, clock)),
    personOf(run) ?? (run.withheld ? el("span", { class: "badge soft" }, said.private) : words.parts.none),
    preview?.asked ? el("span", { class: "clip" }, preview.asked) : run.withheld ? words.parts.none : said.by(words.triggers[run.trigger.type]),
    outcomeOf(run),
    el("span", { class: "short" }, took(run.started_at, run.ended_at)),
    usage === null ? words.parts.none : number(usage.input_tokens + usage.output_tokens),
    run.money === null ? words.parts.none : el("span", { class: "short" }, amount(run.money)),
  ];
}

function outcomeOf(run) {
  const answer = run.preview?.answered;
  if (resultOf(run) === "answered") return el("span", { class: "clip" }, answer ? said.says(answer) : said.results.answered);
  if (resultOf(run) === "silent" && run.tools.includes(ASKS_TEAM)) return el("span", {}, said.askedTeam);
  return el("span", { class: resultOf(run) === "failed" ? "bad-text" : "" }, run.meaning ?? words.runStatuses[run.status]);
}
