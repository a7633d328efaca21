// What the tenant has used: calls, tokens, SMS and money by day, agent, person or model.
import { withQuery } from "../api.js";
import { columnChart } from "../charts.js";
import { el, field, fill } from "../dom.js";
import { amount, bar, card, facts, form, number, part, table, tabs } from "../parts.js";
import { words } from "../words.js";

const DAYS = 14, MOST_NAMES = 500, DAY_MS = 86_400_000;
const KINDS = ["day", "agent", "user", "channel", "model"];
const said = words.pages.usage;

async function show(main, [by = "day", from = null, to = null], { api }) {
  if (!KINDS.includes(by)) throw new Error(words.errors.notFound);
  const place = el("div", { class: "stack" }, el("p", { class: "loading" }, words.loading));
  fill(main, el("h1", {}, said.name), place);
  const last = to ?? (await api.get("/v1/usage?by=tenant")).to; // the API's day: a local clock may be ahead
  const first = from ?? dayBefore(last, DAYS - 1);
  const [report, names] = await Promise.all([
    api.get(withQuery("/v1/usage", { by, from: first, to: last })), namesOf(api, by),
  ]);
  const address = (kind, begin, end) => `#/usage/${kind}/${part(begin)}/${part(end)}`;
  const fromField = el("input", { type: "date", value: first, required: true });
  const toField = el("input", { type: "date", value: last, required: true });
  fill(place,
    tabs(said.by, KINDS.map((kind) => [kind, address(kind, first, last), said.kinds[kind]]), by),
    form(el("div", { class: "row" }, field(said.from, fromField), field(said.to, toField)), said.show,
      () => { location.hash = address(by, fromField.value, toField.value); }, { class: "filter" }),
    card(said.total, facts([[said.calls, number(report.total.calls)], [said.input, number(report.total.input_tokens)],
      [said.cached, number(report.total.cached_tokens)], [said.output, number(report.total.output_tokens)],
      ...Object.entries(report.total.channels).map(([name, sent]) => [said.sent(name), said.sentUnits(number(sent.texts), number(sent.units))]),
      [said.toolCalls, number(report.total.tool_calls)], [said.toolCost, number(report.total.tool_cost)], [said.money, amount(report.total.money)]])),
    card(said.kinds[by], by === "day" && report.rows.length > 0 ? daysChart(allDays(report.rows, first, last)) : null,
      by === "channel" ? channelsTable(report) : rowsTable(report, by, names)));
  return null;
}

function daysChart(rows) {
  return columnChart([said.fromCache, said.fresh, said.output], rows.map((row) => ({
    label: row.key.slice(5), values: [row.cached_tokens, row.input_tokens - row.cached_tokens, row.output_tokens],
  })));
}

/** The rows of all days, also of those without use. */
function allDays(rows, first, last) {
  const used = new Map(rows.map((row) => [row.key, row]));
  const days = [];
  for (let day = first; day <= last; day = dayBefore(day, -1)) days.push(used.get(day) ?? { key: day, input_tokens: 0, cached_tokens: 0, output_tokens: 0 });
  return days;
}

function channelsTable(report) {
  return [table(said.kinds.channel, [said.of.channel, said.texts, said.units, said.money], report.rows.map((row) => [
    said.channels[row.key] ?? row.key, number(row.texts), number(row.channels[row.key].units),
    row.money === null ? words.parts.none : amount(row.money),
  ]), said.none), el("p", { class: "hint" }, said.appChannel)];
}

function rowsTable(report, by, names) {
  const tokens = (row) => row.input_tokens + row.output_tokens;
  const most = Math.max(1, ...report.rows.map(tokens));
  return table(said.kinds[by],
    [said.of[by], ...(by === "day" ? [] : [said.share]), said.calls, said.input, said.cached, said.output, said.texts, said.money],
    report.rows.map((row) => [
      nameOf(row.key, by, names), ...(by === "day" ? [] : [bar(tokens(row), most)]),
      number(row.calls), number(row.input_tokens), number(row.cached_tokens), number(row.output_tokens), number(row.texts), row.money === null ? words.parts.none : amount(row.money),
    ]), said.none);
}

function nameOf(key, by, names) {
  if (key === "") return said.nobody;
  if (by === "agent") return names.has(key) ? el("a", { href: `#/agent/${part(key)}` }, names.get(key)) : words.run.gone;
  if (by === "user") return el("a", { href: `#/people/${part(key)}` }, names.get(key) || words.names.unnamed);
  return key;
}

async function namesOf(api, by) {
  const path = { agent: "/v1/agents", user: "/v1/users" }[by];
  const items = path ? await api.items(path, MOST_NAMES) : [];
  return new Map(items.map((item) => [item.id, item.name]));
}

function dayBefore(day, count) {
  return new Date(Date.parse(day) - count * DAY_MS).toISOString().slice(0, 10);
}

export default { name: "usage", needs: "support", show };
