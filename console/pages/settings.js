// The settings in force, each with the source of its value, the pauses, and the event endpoints.
import { withQuery } from "../api.js";
import { el, field, fill, select } from "../dom.js";
import { endpointsCard } from "../event_endpoints.js";
import { action, card, form, lazy, outcome, part, when } from "../parts.js";
import { settingField } from "../setting_fields.js";
import { settingGroups } from "../setting_groups.js";
import { words } from "../words.js";

const said = words.pages.settings;
const unfolded = new Set(); // titles of groups, which stay open after a change

async function show(main, [agentId = null, phone = null], context) {
  const { api } = context;
  const again = () => show(main, [agentId, phone], context);
  const [found, pauses, agents, lines, own, endpoints] = await Promise.all([
    api.get(withQuery("/v1/settings/effective", { agent_id: agentId, line: phone })), api.get("/v1/pauses"),
    api.items("/v1/agents", 500), api.items("/v1/lines", 500), api.get("/v1/settings"),
    endpointsCard(api),
  ]);
  const agent = select([["", said.tenant], ...agents.map((each) => [each.id, each.name])], agentId ?? "",
    (id) => { location.hash = id ? `#/settings/${part(id)}` : "#/settings"; });
  const offered = lines.filter((each) => agentId === null || each.agent_id === agentId);
  const line = select([["", said.app], ...offered.map((each) => [each.phone, each.phone])], phone ?? "", (chosen) => {
    const owner = offered.find((each) => each.phone === chosen)?.agent_id ?? agentId;
    location.hash = `#/settings${[owner, chosen].filter(Boolean).map((each) => `/${part(each)}`).join("")}`;
  });
  const level = levelOf(api, own, agents.find((each) => each.id === agentId), lines.find((each) => each.phone === phone), again);
  fill(main, el("h1", {}, said.name), pausesCard(api, pauses, again),
    card(said.settings, el("p", { class: "hint" }, said.changesOf(level.name)),
      el("div", { class: "row fields" }, field(said.settingsOf, agent), field(said.settingsOn, line))),
    groupsOf(found.items, level), endpoints);
  return null;
}

/** The level that the page changes: a line, an agent, or the tenant. */
function levelOf(api, own, agent, line, again) {
  const [source, name, path, names] = line ? ["line", line.phone, `/v1/lines/${part(line.phone)}`, Object.keys(line.settings)]
    : agent ? ["agent", agent.name, `/v1/agents/${part(agent.id)}`, Object.keys(agent.settings)] : ["tenant", said.theTenant, "/v1/settings", Object.keys(own)];
  const change = async (setting, value) => {
    await api.patch(path, source === "tenant" ? { [setting]: value } : { settings: { [setting]: value } });
    await again();
  };
  return { source, name, names, change };
}

// ---------------------------------------------------------------------- pauses

function pausesCard(api, { tenant, stack }, again) {
  return card(said.pauses, el("p", { class: "hint" }, said.pausesHint), el("ul", { class: "items switches" }, Object.keys(said.kinds).map((kind) => {
    const place = outcome();
    const turn = async () => {
      await api.call(tenant[kind] ? "DELETE" : "PUT", `/v1/pauses/${kind}`);
      await again();
    };
    return el("li", {},
      el("p", { class: tenant[kind] || stack[kind] ? "bad" : "good" }, said.kinds[kind], ": ",
        tenant[kind] ? [said.pausedSince, " ", when(tenant[kind])] : stack[kind] ? [said.stackPausedSince, " ", when(stack[kind])] : said.running),
      action(tenant[kind] ? said.resume : said.pause, turn, place, { "aria-label": (tenant[kind] ? said.resumeKind : said.pauseKind)(said.kinds[kind]) }),
      place);
  })));
}

// ---------------------------------------------------------------------- settings

/** The settings of a level in groups; each opens to a field for its value. */
function groupsOf(items, level) {
  const named = new Map(items.map((item) => [item.name, item]));
  const groups = Object.entries(settingGroups).map(([group, names]) => [said.groups[group], names.flatMap((name) => named.get(name) ?? [])]);
  return groups.filter(([, settings]) => settings.length > 0).map(([title, settings]) => {
    const changed = settings.filter((setting) => setting.source !== "environment").length;
    return el("details", { class: "card fold-card", open: unfolded.has(title), on: { toggle: ({ target }) => {
      if (target.open) unfolded.add(title);
      else unfolded.delete(title);
    } } },
    el("summary", {}, el("h2", {}, title), el("span", { class: "hint" }, said.count(settings.length, changed))),
    el("ul", { class: "items settings" }, settings.map((setting) => el("li", { "data-setting": setting.name }, settingOf(setting, level)))));
  });
}

function settingOf(setting, level) {
  return [
    el("div", { class: "setting" },
      el("div", {}, el("h3", {}, labelOf(setting.name)), el("p", { class: "hint" }, prose(setting.description))),
      el("div", { class: "in-force" }, el("p", {}, el("strong", {}, shown(setting.value))),
        el("p", { class: "hint" }, said.setBy(said.sources[setting.source] ?? setting.source)))),
    level.names.includes(setting.name) ? lazy(said.change, () => editor(setting, level)) : null,
  ];
}

/** A form for a value; the value of this level can be taken back. */
function editor(setting, level) {
  const { node, read } = settingField(setting), place = outcome();
  return [
    form([node], said.save, () => level.change(setting.name, read())),
    setting.source === level.source ? el("div", {}, action(said.reset, () => level.change(setting.name, null), place)) : null, place,
    el("p", { class: "hint" }, el("code", {}, setting.name)),
  ];
}

/** The name of a setting as people read it. */
function labelOf(name) {
  const text = name.replaceAll("_", " ").replace("sms", "SMS");
  return text[0].toUpperCase() + text.slice(1);
}

/** A description, whose parts in backticks are code. */
function prose(text) { return text.split("`").map((piece, at) => (at % 2 === 1 ? el("code", {}, piece) : piece)); }

function shown(value) {
  if (value === null) return said.unset;
  if (typeof value === "boolean") return value ? said.yes : said.no;
  if (Array.isArray(value)) return value.length === 0 ? said.nothing : said.listed(value.map((each) => (typeof each === "string" ? each : each.name ?? said.entry)));
  if (typeof value !== "object") return String(value);
  if (value.models) return said.pricesFor(Object.keys(value.models), value.currency);
  return value.from === value.to ? said.always(value) : said.hours(value);
}

export default { name: "settings", needs: "support", show };
