// The settings in force, each with the source of its value, the pauses, and the event endpoints.
import { withQuery } from "../api.js";
import { el, field, fill, select } from "../dom.js";
import { endpointsCard } from "../event_endpoints.js";
import { action, card, form, outcome, part, table, when } from "../parts.js";
import { words } from "../words.js";

const said = words.pages.settings;

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
  fill(main, el("h1", {}, said.name), pausesCard(api, pauses, again),
    card(said.settings, field(said.settingsOf, agent), field(said.settingsOn, line),
      table(said.settings, [said.setting, said.value, said.source], found.items.map((item) => [
        [el("code", {}, item.name), el("p", { class: "hint" }, item.description)], shown(item.value), said.sources[item.source] ?? item.source,
      ]))),
    changeCard(api, own, found.items, again), endpoints);
  return null;
}

function shown(value) {
  if (value === null) return said.unset;
  if (typeof value === "boolean") return value ? said.yes : said.no;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
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

// ---------------------------------------------------------------------- changes

/** Change a setting of the tenant; the value is JSON, or a text. */
function changeCard(api, own, items, again) {
  const value = el("input", { autocomplete: "off", spellcheck: "false" });
  const name = select(items.map((each) => [each.name, each.name]), items[0].name, offer);
  const entered = field(said.value, value, "");
  function offer() {
    const setting = items.find((each) => each.name === name.value);
    const current = own[name.value] ?? setting.value;
    fill(entered.querySelector(".hint"), said.types[setting.type], setting.minimum === null ? null : said.from(setting.minimum),
      setting.maximum === null ? null : said.to(setting.maximum), said.empty);
    value.value = current === null ? "" : typeof current === "string" ? current : JSON.stringify(current);
  }
  offer();
  const save = async () => {
    await api.patch("/v1/settings", { [name.value]: parsed(value.value) });
    await again();
  };
  return card(said.change, form([field(said.setting, name), entered], said.save, save));
}

function parsed(text) {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export default { name: "settings", needs: "support", show };
