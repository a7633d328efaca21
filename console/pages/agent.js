// Agents: the list, and one agent with its system prompt, tools, memories, work and documents.
import { documents, skills } from "../agent/files.js";
import { goals, memories } from "../agent/mind.js";
import { preview, systemPrompt, tools } from "../agent/setup.js";
import { plans, threads } from "../agent/work.js";
import { el, field, fill, select } from "../dom.js";
import { form, noAgent, paged, part, tabs } from "../parts.js";
import { askReason, reasonFor } from "../reason.js";
import { words } from "../words.js";

// By name: each returns its nodes; `again` shows the part once more after a change.
const PARTS = { prompt: systemPrompt, tools, memories, goals, plans, threads, documents, skills, preview };
const OF_SOMEONE = new Set(["memories", "goals", "plans", "threads", "documents"]);
const FIRST = "prompt";
const KINDS = [null, "user", "chat"]; // for everyone, of a person, or of a chat
const said = words.pages.agent;

async function show(main, [agentId, name = FIRST, kind = null, id = ""], { api }) {
  if (agentId === undefined) return showList(main, api);
  if (!Object.hasOwn(PARTS, name) || !KINDS.includes(kind)) throw new Error(words.errors.notFound);
  const agent = await api.get(`/v1/agents/${part(agentId)}`);
  const address = `#/agent/${part(agentId)}`;
  const place = el("div", { class: "stack" });
  const secret = kind !== null && OF_SOMEONE.has(name);
  const subject = `${kind}/${id}`;
  const scope = kind === null ? {} : { [`${kind}_id`]: id, ...(secret ? { reason: reasonFor(subject) } : {}) };
  const again = async () => fill(place, await PARTS[name](api, agent, scope, again));
  fill(main,
    el("h1", {}, agent.name),
    tabs(said.parts, Object.keys(PARTS).map((each) => [each, `${address}/${each}`, said.tabs[each]]), name),
    agent.warnings.map((warning) => el("p", { class: "notice" }, warning.message)),
    OF_SOMEONE.has(name) ? whose(`${address}/${name}`, kind, id) : null, place);
  if (!secret || scope.reason !== null) {
    await again();
    return null;
  }
  fill(place, askReason(said.why, subject, async (reason) => {
    scope.reason = reason;
    await again();
  }));
  return null;
}

async function showList(main, api) {
  fill(main, el("h1", {}, said.name), await paged(api, "/v1/agents", (agent) => [
    el("a", { href: `#/agent/${part(agent.id)}` }, agent.name),
    el("p", { class: "hint clip" }, agent.description ?? agent.system_prompt),
  ], noAgent()));
  return null;
}

/** Choose whose items to show: those that everyone may know, or those of a person or a chat. */
function whose(address, kind, id) {
  const name = el("input", { value: id, autocomplete: "off", required: kind !== null });
  const named = field(said.id, name);
  named.hidden = kind === null;
  const choice = select([["", said.open], ["user", said.ofPerson], ["chat", said.ofChat]], kind ?? "",
    (value) => { named.hidden = value === ""; name.required = value !== ""; });
  return form(el("div", { class: "row" }, field(said.whose, choice), named), said.show, () => {
    location.hash = choice.value === "" ? address : `${address}/${choice.value}/${part(name.value.trim())}`;
  }, { class: "filter" });
}

export default { name: "agent", needs: "support", show };
