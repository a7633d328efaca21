// Tools of a tenant: what an operator can do with one, and the approval of those of an MCP server.
import { el, field, fill, select } from "./dom.js";
import { form, lazy, part } from "./parts.js";
import { words } from "./words.js";

const said = words.pages.agent.setup;

/** A tool of the tenant, which an operator can call with arguments. */
export function trial(api, tool) {
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
export function server(api, tool, again) {
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
