// What operators set of an agent: system prompt and model with their history, tools, and a preview.
import { withQuery } from "../api.js";
import { difference } from "../diff.js";
import { el, field, fill, select } from "../dom.js";
import { action, announce, card, form, lazy, outcome, part, when } from "../parts.js";
import { chatPicker } from "../names.js";
import { promptCard } from "../run_view.js";
import { toolWords } from "../tool_words.js";
import { words } from "../words.js";

const MOST_TOOLS = 200;
const said = words.pages.agent.setup;

// ---------------------------------------------------------------------- system prompt and model

export async function systemPrompt(api, agent, _scope, again) {
  const path = `/v1/agents/${part(agent.id)}`;
  const prompt = el("textarea", { rows: 10, value: agent.system_prompt });
  const model = el("input", { value: agent.model ?? "", autocomplete: "off", maxlength: 200 });
  const mode = select([["", said.ofDeployment], ["text", said.text], ["tools", said.tools]], agent.reply_mode ?? "", () => {});
  const outsiders = select([["", said.byTools], ["quoted", said.quoted], ["none", said.noOutsiders]],
    agent.outsiders ?? "", () => {});
  const versions = await api.get(`${path}/versions`);

  async function save() {
    Object.assign(agent, await api.patch(path, {
      system_prompt: prompt.value, model: model.value.trim() || null, reply_mode: mode.value || null, outsiders: outsiders.value || null,
    }));
    await again();
    announce(said.saved);
  }
  return [
    card(said.promptAndModel, form([
      field(said.systemPrompt, prompt), el("div", { class: "row fields" }, field(said.model, model, said.modelHint), field(said.replyMode, mode),
        field(said.outsiders, outsiders, said.outsidersHint)),
    ], said.save, save)),
    card(said.history, el("ol", { class: "items" }, versions.items.map((version, place) =>
      el("li", {}, versionOf(version, versions.items[place + 1], place === 0, restore))))),
  ];

  async function restore(version) {
    Object.assign(agent, await api.post(`${path}/versions/${version}/restore`));
    await again();
  }
}

function versionOf(version, before, current, restore) {
  const place = outcome();
  return [
    el("h3", {}, said.version(version.version), current ? ` (${said.current})` : ""),
    el("p", { class: "hint" }, when(version.changed_at), " ", version.changed_by ? said.by(version.changed_by) : "",
      version.restored_from === null ? "" : ` ${said.restoredFrom(version.restored_from)}`),
    before === undefined ? null : lazy(said.changes, () => changed(before.configuration, version.configuration)),
    current ? null : action(said.restore, () => restore(version.version), place,
      { "aria-label": said.restoreVersion(version.version) }),
    place,
  ];
}

/** The fields of a configuration that differ, each line by line. */
function changed(before, now) {
  const names = Object.keys(now).filter((name) => text(before[name]) !== text(now[name]));
  if (names.length === 0) return el("p", { class: "empty" }, said.noChange);
  return names.map((name) => el("section", {}, el("h4", {}, name), difference(text(before[name]), text(now[name]))));
}

function text(value) { return typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2); }

// ---------------------------------------------------------------------- tools

export async function tools(api, agent, _scope, again) {
  const document = await api.get("/openapi.json");
  const known = document.components.schemas.ToolName?.enum ?? [];
  const own = await api.items("/v1/tools", MOST_TOOLS);
  const names = [...new Set([...known, ...own.flatMap((tool) => tool.names), ...agent.enabled_tools])];
  const about = new Map(own.flatMap((tool) => tool.names.map((name) => [name, tool.description])));
  const boxes = names.map((name) => el("input", { type: "checkbox", value: name, id: `tool-${name}`,
    checked: agent.enabled_tools.includes(name) }));

  async function save() {
    const enabled_tools = boxes.filter((box) => box.checked).map((box) => box.value);
    Object.assign(agent, await api.patch(`/v1/agents/${part(agent.id)}`, { enabled_tools }));
    await again();
  }
  return [
    card(said.enabledTools, el("p", { class: "hint" }, agent.reply_mode === "text" ? said.textMode : said.toolsHint),
      form(el("ul", { class: "checks tools" }, boxes.map((box) => el("li", {}, box,
        el("label", { for: box.id }, box.value, el("span", { class: "hint" }, toolWords[box.value] ?? about.get(box.value)))))),
        said.save, save)),
    own.length === 0 ? null : card(said.ownTools, own.map((tool) => (tool.mcp ? server(api, tool, again) : trial(api, tool)))),
  ];
}

/** A tool of the tenant, which an operator can call with arguments. */
function trial(api, tool) {
  const place = el("div", { class: "stack" });
  const given = el("textarea", { rows: 3, value: JSON.stringify(example(tool.parameters), null, 2) });

  async function call() {
    const made = await api.post(`/v1/tools/${part(tool.name)}/try`, { arguments: JSON.parse(given.value) });
    fill(place, el("p", { class: "hint" }, said.tried(made.status, made.usage)), el("pre", {}, made.content));
  }
  return el("section", {}, el("h3", {}, tool.name), el("p", { class: "text" }, tool.description),
    el("p", { class: "hint" }, said.toolFacts(tool)),
    lazy(said.tryIt, () => [form([field(said.arguments, given)], said.call, call), place]));
}

/** An MCP server, whose tools an operator approves one by one and can call. */
function server(api, tool, again) {
  const path = `/v1/tools/${part(tool.name)}/offered`;

  async function offers() {
    const { items } = await api.get(path);
    return items.map(({ name, state, fault, digest, listed, rights }) => {
      const effect = select([["write", said.writes], ["read", said.reads]], rights.effect, () => {});
      const idempotent = el("input", { type: "checkbox", checked: rights.idempotent });
      const confirmed = el("input", { type: "checkbox", checked: rights.values_confirmed });
      async function approve() {
        await api.post(path, { tool: listed.name, digest, effect: effect.value, idempotent: idempotent.checked,
          values_confirmed: confirmed.checked });
        await again();
      }
      const facts = el("p", { class: "hint" }, fault ?? said.offers[state]);
      if (fault || state === "gone") return el("section", {}, el("h3", {}, name), facts);
      const approval = [el("pre", {}, JSON.stringify(listed.parameters, null, 2)),
        el("p", { class: "hint" }, said.hints(listed)),
        form([field(said.effect, effect), field(said.idempotent, idempotent), field(said.confirmed, confirmed, said.confirmedHint)],
          state === "approved" ? said.change : said.approve, approve)];
      if (state === "approved") {
        return el("div", {}, trial(api, { ...tool, ...listed, ...rights, name }), facts, lazy(said.rights, () => approval));
      }
      return el("section", {}, el("h3", {}, name), el("p", { class: "text" }, listed.description), facts, approval);
    });
  }
  return el("section", {}, el("h3", {}, tool.name), el("p", { class: "text" }, tool.mcp.url),
    lazy(said.offered, offers));
}

/** Arguments that fit a schema. */
function example(schema) {
  const blank = { string: "", integer: 0, number: 0, boolean: false, array: [], object: {} };
  const named = Object.entries(schema?.properties ?? {});
  return Object.fromEntries(named.map(([name, part]) => [name, part.enum?.[0] ?? blank[part.type] ?? ""]));
}

// ---------------------------------------------------------------------- preview

export async function preview(api, agent, scope) {
  const chat = await chatPicker(api, { label: said.chat, agentId: agent.id, chosen: scope.chat_id ?? null, none: said.noChat });
  const why = el("input", { minlength: 15, maxlength: 300, autocomplete: "off" });
  const place = el("div", { class: "stack" });

  async function look() {
    const path = withQuery(`/v1/agents/${part(agent.id)}/context`, {
      chat_id: chat.control.value || null, reason: why.value.trim() || null,
    });
    fill(place, promptCard(await api.get(path), said.wouldSee));
  }
  if (scope.chat_id) await look();
  return [card(said.preview, el("p", { class: "hint" }, said.previewHint), form([chat.node, field(said.why, why, words.reason.hint)], said.look, look)), place];
}
