// Tools of the tenant: make one by a form, a cURL command, an OpenAPI document or an MCP server, and try it.
import { el, field, fill, select } from "../dom.js";
import { server, trial } from "../own_tools.js";
import { action, card, form, lazy, outcome, part } from "../parts.js";
import { fromCurl, fromOpenApi } from "../tool_sources.js";
import { words } from "../words.js";

const MOST = 200, METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const APPROVALS = ["none", "person", "operator"], PRIVACIES = ["shared", "keeps_by_person"];
const said = words.pages.tools;

async function show(main, _args, { api }) {
  const list = el("div", { class: "stack" });

  async function refresh() {
    const [own, tokens] = await Promise.all([api.items("/v1/tools", MOST), api.get("/v1/tool-tokens")]);
    const cost = new Map(tokens.items.map((each) => [each.name, each.tokens]));
    fill(list, own.length === 0 ? el("p", { class: "empty" }, said.none) : own.map((tool) => shown(api, tool, cost, refresh)));
  }
  await refresh();
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about), card(said.own, list), card(said.add, newTool(api, refresh)));
  return null;
}

/** A tool with its cost, a way to try it, and a way to delete it. */
function shown(api, tool, cost, refresh) {
  const place = outcome();
  const remove = async () => {
    await api.delete(`/v1/tools/${part(tool.name)}`);
    await refresh();
  };
  const sum = tool.names.reduce((total, name) => total + (cost.get(name) ?? 0), 0);
  return el("div", { class: "stack tool" }, tool.mcp ? server(api, tool, refresh) : trial(api, tool),
    el("p", { class: "hint" }, said.tokens(sum), tool.http ? ` ${tool.http.method} ${tool.http.url}` : "", ` ${said.asks[tool.asks]}`),
    lazy(said.holders, () => holders(api, tool)),
    el("div", {}, action(said.remove, remove, place, { "aria-label": said.removeOf(tool.name) })), place);
}

/** The agents of the tenant, of which those are checked that can call a tool. */
async function holders(api, { names }) {
  const agents = await api.items("/v1/agents", MOST);
  const has = (agent) => names.length > 0 && names.every((name) => agent.enabled_tools.includes(name));
  const boxes = agents.map((agent) => [agent, el("input", { type: "checkbox", checked: has(agent) })]);
  const rows = boxes.map(([{ name }, box]) => el("li", {}, el("label", { class: "check" }, box, el("span", {}, name))));
  return form(el("ul", { class: "checks" }, rows), said.save, async () => {
    for (const [{ id }, box] of boxes) {
      const path = `/v1/agents/${part(id)}`, agent = await api.get(path);
      const others = agent.enabled_tools.filter((name) => !names.includes(name));
      if (has(agent) !== box.checked) await api.patch(path, { enabled_tools: box.checked ? [...others, ...names] : others });
    }
    return said.saved;
  });
}

// ---------------------------------------------------------------------- a new one

function newTool(api, refresh) {
  const place = el("div", { class: "stack" });
  const sources = { form: () => byForm(api, refresh), curl: () => byCurl(api, refresh), openapi: () => byOpenApi(api, refresh), mcp: () => byServer(api, refresh) };
  const choice = select(Object.keys(sources).map((name) => [name, said.sources[name]]), "form", (name) => { fill(place, sources[name]()); });
  fill(place, byForm(api, refresh));
  return el("div", { class: "stack" }, field(said.source, choice), place);
}

/** The form of a tool that calls a service by HTTP; `read` is what was found in what was pasted. */
function byForm(api, refresh, read = {}) {
  const method = read.method ?? "GET";
  const name = el("input", { required: true, pattern: "[a-z][a-z0-9_]{0,63}", maxlength: 64, autocomplete: "off", value: read.name ?? "" });
  const description = el("textarea", { rows: 2, required: true, maxlength: 1000, value: read.description ?? "" });
  const url = el("input", { required: true, maxlength: 2000, autocomplete: "off", value: read.url ?? "", placeholder: "https://shop.example/orders/{order}" });
  const parameters = el("textarea", { rows: 8, value: JSON.stringify(read.parameters ?? { type: "object", properties: {}, required: [] }, null, 2) });
  const effect = select([["read", said.reads], ["write", said.writes]], method === "GET" ? "read" : "write", () => {});
  const verb = select(METHODS.map((each) => [each, each]), method, (chosen) => { effect.value = chosen === "GET" ? "read" : "write"; });
  const approval = select([["", said.byEffect], ...APPROVALS.map((each) => [each, said.asks[each]])], "", () => {});
  const privacy = privacyChoice();
  return form([
    el("div", { class: "row fields" }, field(said.toolName, name, said.toolNameHint), field(said.method, verb)), field(said.url, url, said.urlHint),
    field(said.description, description, said.descriptionHint), field(said.parameters, parameters, said.parametersHint),
    el("div", { class: "row fields" }, field(said.effect, effect), field(said.approval, approval), field(said.privacy, privacy)),
  ], said.create, () => create(api, refresh, {
    name: name.value, description: description.value, parameters: JSON.parse(parameters.value), effect: effect.value,
    approval: approval.value || null, privacy: privacy.value, http: { method: verb.value, url: url.value, headers: read.headers ?? {} },
  }));
}

function privacyChoice() { return select(PRIVACIES.map((each) => [each, said.privacies[each]]), "shared", () => {}); }

function byCurl(api, refresh) {
  const command = el("textarea", { rows: 5, required: true, spellcheck: false, placeholder: "curl https://shop.example/orders/1234" });
  const place = el("div", { class: "stack" });
  return [form([field(said.command, command, said.commandHint)], said.read, () => {
    fill(place, byForm(api, refresh, readable(() => fromCurl(command.value), said.noCommand)));
  }), place];
}

function byOpenApi(api, refresh) {
  const text = el("textarea", { rows: 8, required: true, spellcheck: false });
  const place = el("div", { class: "stack" }), chosen = el("div", { class: "stack" });
  return [form([field(said.document, text, said.documentHint)], said.read, () => {
    const found = readable(() => fromOpenApi(text.value), said.noDocument);
    if (found.length === 0) throw new Error(said.noDocument);
    const choose = (index) => { fill(chosen, byForm(api, refresh, found[index])); };
    choose(0);
    fill(place, field(said.operation, select(found.map((each, index) => [String(index), `${each.method} ${each.url}`]), "0", choose)), chosen);
  }), place];
}

function byServer(api, refresh) {
  const name = el("input", { required: true, pattern: "[a-z][a-z0-9_]{0,63}", maxlength: 64, autocomplete: "off" });
  const url = el("input", { required: true, maxlength: 2000, autocomplete: "off", placeholder: "https://shop.example/mcp" });
  const privacy = privacyChoice();
  return form([el("div", { class: "row fields" }, field(said.toolName, name, said.toolNameHint), field(said.serverUrl, url), field(said.privacy, privacy))],
    said.create, () => create(api, refresh, { name: name.value, privacy: privacy.value, mcp: { url: url.value } }));
}

/** Create the tool, and show its secret once. */
async function create(api, refresh, tool) {
  const made = await api.post("/v1/tools", tool);
  await refresh();
  return [said.created(made.name), " ", el("code", {}, made.secret)];
}

/** What was read; words for the person if it cannot be read. */
function readable(read, otherwise) {
  try {
    return read();
  } catch {
    throw new Error(otherwise);
  }
}

export default { name: "tools", needs: "support", show };
