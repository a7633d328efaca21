// A form that creates an agent from a template and, with a number, its line.
import { el, field, fill, select } from "./dom.js";
import { facts, form, part } from "./parts.js";
import { words } from "./words.js";

const E164 = /^\+[1-9][0-9]{6,14}$/;
const EMPTY = "empty";
const said = words.newAgent;

/** The form; it keeps its words until the agent is there. */
export async function newAgent(context) {
  const templates = new Map((await context.api.get("/v1/agent-templates")).items.map((each) => [each.name, each]));
  const name = el("input", { required: true, maxlength: 200, autocomplete: "off", placeholder: said.namePlaceholder });
  const purpose = el("textarea", { rows: 4, required: true, placeholder: said.purposePlaceholder });
  const line = el("input", { type: "tel", autocomplete: "off" });
  const about = el("div", { class: "stack", "aria-live": "polite" });
  let filled = "";

  /** Show what the template brings, and fill in its instructions unless the person has written some. */
  function choose(chosen) {
    const template = templates.get(chosen);
    if (purpose.value === filled) purpose.value = template.system_prompt;
    filled = template.system_prompt;
    purpose.rows = filled === "" ? 4 : 10;
    fill(about, el("p", { class: "hint" }, template.about), facts([
      [said.tools, template.enabled_tools.join(", ")],
      [said.plans, template.plans.map((plan) => said.plan(plan)).join("; ")],
    ]));
  }
  const template = select([...templates.values()].map((each) => [each.name, each.title]), EMPTY, choose);
  choose(EMPTY);
  const made = form([
    field(said.template, template), about,
    field(said.name, name), field(said.purpose, purpose, said.purposeHint), field(said.line, line, said.lineHint),
  ], said.create, async () => {
    const phone = line.value.trim();
    if (phone !== "" && !E164.test(phone)) return said.noNumber;
    const told = await create(context, template.value, name.value.trim(), purpose.value.trim(), phone);
    made.reset();
    filled = "";
    template.value = EMPTY;
    choose(EMPTY);
    return told;
  });
  return made;
}

/** Create the agent and its line; return what to say. */
async function create({ api, config }, template, name, purpose, phone) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const agent = await api.post("/v1/agents", { name, template, system_prompt: purpose, reply_mode: "text", time_zone: timeZone });
  const open = [" ", el("a", { href: `#/agent/${part(agent.id)}` }, said.open(agent.name))];
  if (phone === "") return [said.created(agent.name), open];
  try {
    await api.post("/v1/lines", { phone, agent_id: agent.id });
  } catch (error) {
    return [said.withoutLine(agent.name, error.message), open];
  }
  return [said.created(agent.name), config.local ? [" ", el("a", { href: `#/phone/sms/${part(phone)}` }, said.text)] : null, open].flat();
}
