// Agents: the list, and one agent with its system prompt, tools, memories, work and documents.
import { documents, skills } from "../agent/files.js";
import { importing } from "../agent/file.js";
import { header } from "../agent/header.js";
import { goals, memories } from "../agent/mind.js";
import { preview, systemPrompt, tools } from "../agent/setup.js";
import { plans, threads } from "../agent/work.js";
import { trials } from "../cases.js";
import { el, field, fill, select } from "../dom.js";
import { agentsById, chatPicker, personPicker } from "../names.js";
import { newAgent } from "../new_agent.js";
import { card, form, part, table, tabs } from "../parts.js";
import { askReason, reasonFor } from "../reason.js";
import { words } from "../words.js";

// By name: each returns its nodes; `again` shows the part once more after a change.
const PARTS = { prompt: systemPrompt, tools, memories, goals, plans, threads, documents, skills, preview, trials };
const OF_SOMEONE = new Set(["memories", "goals", "plans", "threads", "documents"]);
const FIRST = "prompt";
const KINDS = [null, "user", "chat"]; // for everyone, of a person, or of a chat
const said = words.pages.agent;

async function show(main, [agentId, name = FIRST, kind = null, id = ""], context) {
  const { api } = context;
  if (agentId === undefined) return showList(main, context);
  if (!Object.hasOwn(PARTS, name) || !KINDS.includes(kind)) throw new Error(words.errors.notFound);
  const agent = await api.get(`/v1/agents/${part(agentId)}`);
  const address = `#/agent/${part(agentId)}`;
  const place = el("div", { class: "stack" }), head = el("div", {});
  const secret = kind !== null && OF_SOMEONE.has(name);
  const subject = `${kind}/${id}`;
  const scope = kind === null ? {} : { [`${kind}_id`]: id, ...(secret ? { reason: reasonFor(subject) } : {}) };
  await header(head, context, agent, async (notice) => {
    await show(main, [agentId, name, kind, id], context);
    main.prepend(...notice);
  });
  const again = async () => fill(place, await PARTS[name](api, agent, scope, again));
  fill(main,
    head,
    tabs(said.parts, Object.keys(PARTS).map((each) => [each, `${address}/${each}`, said.tabs[each]]), name),
    agent.warnings.map((warning) => el("p", { class: "notice" }, warning.message)),
    OF_SOMEONE.has(name) ? await whose(api, agent, `${address}/${name}`, kind, id) : null, place);
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

async function showList(main, context) {
  const { api } = context;
  const [agents, lines] = await Promise.all([agentsById(api), api.items("/v1/lines", 500)]);
  const linesOf = (agent) => lines.filter((line) => line.agent_id === agent.id).map((line) => line.phone).join(", ");
  fill(main, el("h1", {}, said.name),
    card(said.list, agents.size === 0 ? el("p", { class: "empty" }, words.parts.noAgent)
      : table(said.list, [said.agent, said.about, said.line, said.model], [...agents.values()].map((agent) => [
        el("a", { href: `#/agent/${part(agent.id)}` }, agent.name),
        el("span", { class: "clip" }, agent.description || agent.system_prompt || words.parts.none),
        linesOf(agent) || words.parts.none, agent.model ?? said.header.ofDeployment,
      ]))),
    card(words.newAgent.title, await newAgent(context)),
    card(said.file.title, importing(api)));
  return null;
}

/** Choose whose items to show: those that everyone may know, or those of a person or a chat. */
async function whose(api, agent, address, kind, id) {
  const pickers = {
    user: await personPicker(api, { label: said.person, chosen: kind === "user" ? id : null }),
    chat: await chatPicker(api, { label: said.chat, agentId: agent.id, chosen: kind === "chat" ? id : null }),
  };
  const show = (chosen) => Object.entries(pickers).forEach(([each, { node }]) => { node.hidden = each !== chosen; });
  const choice = select([["", said.open], ["user", said.ofPerson], ["chat", said.ofChat]], kind ?? "", show);
  show(choice.value);
  return form(el("div", { class: "row" }, field(said.whose, choice), Object.values(pickers).map(({ node }) => node)), said.show, () => {
    const chosen = pickers[choice.value]?.control.value;
    location.hash = chosen ? `${address}/${choice.value}/${part(chosen)}` : address;
  }, { class: "filter" });
}

export default { name: "agent", needs: "support", show };
