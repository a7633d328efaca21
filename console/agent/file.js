// An agent as a file: export, import as a new agent, and update of an agent.
import { withQuery } from "../api.js";
import { el, field, fill, saveFile } from "../dom.js";
import { facts, form, part } from "../parts.js";
import { words } from "../words.js";

const said = words.pages.agent.file;

/** Save an agent as a YAML file of the person's computer. */
export async function exportAgent(api, agent) {
  const text = await api.file(`/v1/agents/${part(agent.id)}/file`);
  saveFile(`${agent.name.replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase()}.yaml`, new Blob([text], { type: "application/yaml" }));
}

/** A form that creates an agent from a file. */
export function importing(api) {
  const needed = el("div", { class: "stack" });
  return [fileForm(said.import, said.importHint, async (text, query) => {
    const agent = await api.sendFile("POST", withQuery("/v1/agents/file", query), text);
    fill(needed, secretsOf(agent));
    return [said.imported(agent.name), " ", el("a", { href: `#/agent/${part(agent.id)}` }, said.open(agent.name))];
  }), needed];
}

/** A form that gives an agent the values of a file; `again` shows the whole page, with a notice. */
export function updating(api, agent, again) {
  return fileForm(said.update, said.updateHint, async (text, query) => {
    await again(secretsOf(await api.sendFile("PUT", withQuery(`/v1/agents/${part(agent.id)}/file`, query), text)));
  });
}

function fileForm(label, hint, send) {
  const chosen = el("input", { type: "file", required: true });
  chosen.accept = ".yaml,.yml,application/yaml";
  const overwrite = el("input", { type: "checkbox" });
  return form([
    field(said.file, chosen, hint), el("label", { class: "check" }, overwrite, el("span", {}, said.overwrite)),
  ], label, async () => send(await chosen.files[0].text(), { overwrite: overwrite.checked ? "true" : null }));
}

/** The secrets that the tools of a file need; none if there are none. */
function secretsOf({ secrets }) {
  if (secrets.length === 0) return [];
  return [el("div", { class: "notice" }, el("p", {}, said.secrets), facts(secrets.map((each) => [each.tool, said.secret(each)])))];
}
