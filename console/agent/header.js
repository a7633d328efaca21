// The head of an agent's pages: its name, lines, model and state, and what an operator does with it.
import { el, field, fill, select } from "../dom.js";
import { copyId } from "../names.js";
import { action, facts, form, more, outcome, part } from "../parts.js";
import { words } from "../words.js";
import { exportAgent, updating } from "./file.js";

const E164 = /^\+[1-9][0-9]{6,14}$/;
const said = words.pages.agent.header;

/** Show the head of an agent in a place; it shows itself again after a change, and the page after an import. */
export async function header(place, { api, config }, agent, page) {
  const path = `/v1/agents/${part(agent.id)}`;
  const lines = (await api.items("/v1/lines", 500)).filter((line) => line.agent_id === agent.id);
  const again = () => header(place, { api, config }, agent, page);
  const change = async (body) => {
    Object.assign(agent, await api.patch(path, body));
    await again();
  };
  const told = outcome();
  const talk = async () => {
    const chat = await api.post("/v1/chats", { kind: "direct", client_id: `console-${agent.id}`, members: [{ kind: "agent", id: agent.id }] });
    location.hash = `#/chats/${part(chat.id)}`;
  };
  fill(place, el("section", { class: "card agent-head", "aria-label": said.about },
    el("h1", {}, agent.name),
    agent.description ? el("p", {}, agent.description) : null,
    facts([[said.lines, lines.map((line) => line.phone).join(", ") || said.appOnly], [said.model, agent.model ?? said.ofDeployment],
      [said.state, agent.listed ? said.listed : said.unlisted]]),
    el("div", { class: "row start" }, action(said.talk, talk, told, { class: "primary" }),
      action(said.export, () => exportAgent(api, agent), told),
      config.local && lines.length > 0 ? el("a", { href: `#/phone/sms/${part(lines[0].phone)}` }, said.text) : null, copyId(agent.id)), told,
    el("div", { class: "row start" },
      more(said.rename, renaming(agent, change)), more(said.changeLines, linesOf(api, agent, lines, again)),
      more(said.access, access(agent, change)),
      more(said.update, updating(api, agent, page)), more(said.delete, deleting(api, path, agent)))));
}

function renaming(agent, change) {
  const name = el("input", { required: true, maxlength: 200, autocomplete: "off", value: agent.name });
  const description = el("input", { maxlength: 500, autocomplete: "off", value: agent.description ?? "" });
  return form([field(said.name, name), field(said.description, description, said.descriptionHint)], said.save,
    () => change({ name: name.value.trim(), description: description.value.trim() || null }));
}

/** The lines of the agent, each with a way to take it away, and a field for another. */
function linesOf(api, agent, lines, again) {
  const place = outcome();
  const phone = el("input", { type: "tel", required: true, autocomplete: "off", placeholder: "+15005550016" });
  const add = async () => {
    const number = phone.value.trim();
    if (!E164.test(number)) return said.noNumber;
    await api.post("/v1/lines", { phone: number, agent_id: agent.id });
    return again();
  };
  return el("div", { class: "stack" },
    el("ul", { class: "items switches" }, lines.map((line) => el("li", {}, el("span", {}, line.phone, " (", line.channels.join(", "), ")"),
      action(said.removeLine, async () => {
        await api.delete(`/v1/lines/${part(line.phone)}`);
        await again();
      }, place, { "aria-label": said.removeLineOf(line.phone) })))),
    place, form([field(said.newLine, phone, said.newLineHint)], said.addLine, add));
}

/** Who finds the agent and who may add it to chats. */
function access(agent, change) {
  const listed = el("input", { type: "checkbox", checked: agent.listed });
  const adders = select([["", said.asListed(agent.listed)], ["anyone", said.anyone], ["operators", said.operators]],
    agent.who_may_add ?? "", () => {});
  return form([el("label", { class: "check" }, listed, el("span", {}, said.isListed)), field(said.whoMayAdd, adders)], said.save,
    () => change({ listed: listed.checked, who_may_add: adders.value || null }));
}

function deleting(api, path, agent) {
  const name = el("input", { required: true, autocomplete: "off", spellcheck: "false" });
  return form([el("p", { class: "hint" }, said.aboutDelete), field(said.confirm(agent.name), name)], said.deleteNow, async () => {
    if (name.value.trim() !== agent.name) return said.otherName;
    await api.delete(path);
    location.hash = "#/agent";
    return "";
  });
}
