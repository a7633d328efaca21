// A form that creates an agent and, with a number, its line.
import { el, field } from "./dom.js";
import { form, part } from "./parts.js";
import { words } from "./words.js";

const E164 = /^\+[1-9][0-9]{6,14}$/;
const said = words.newAgent;

/** The form; it keeps its words until the agent is there. */
export function newAgent(context) {
  const name = el("input", { required: true, maxlength: 200, autocomplete: "off", placeholder: said.namePlaceholder });
  const purpose = el("textarea", { rows: 4, required: true, placeholder: said.purposePlaceholder });
  const line = el("input", { type: "tel", autocomplete: "off" });
  const made = form([
    field(said.name, name), field(said.purpose, purpose, said.purposeHint), field(said.line, line, said.lineHint),
  ], said.create, async () => {
    const phone = line.value.trim();
    if (phone !== "" && !E164.test(phone)) return said.noNumber;
    const told = await create(context, name.value.trim(), purpose.value.trim(), phone);
    made.reset();
    return told;
  });
  return made;
}

/** Create the agent and its line; return what to say. */
async function create({ api, config }, name, purpose, phone) {
  const agent = await api.post("/v1/agents", { name, system_prompt: purpose, reply_mode: "text" });
  const open = [" ", el("a", { href: `#/agent/${part(agent.id)}` }, said.open(agent.name))];
  if (phone === "") return [said.created(agent.name), open];
  try {
    await api.post("/v1/lines", { phone, agent_id: agent.id });
  } catch (error) {
    return [said.withoutLine(agent.name, error.message), open];
  }
  return [said.created(agent.name), config.local ? [" ", el("a", { href: `#/phone/sms/${part(phone)}` }, said.text)] : null, open].flat();
}
