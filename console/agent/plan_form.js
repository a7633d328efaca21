// A form for a plan: what the agent does, when, and where it speaks.
import { el, field, select } from "../dom.js";
import { chatPicker, personPicker } from "../names.js";
import { form, localTime } from "../parts.js";
import { words } from "../words.js";

const REGULAR = /^(\d{1,2}) (\d{1,2}) \* \* (\*|1-5|[0-6])$/; // cron that has a time of the day
const SHORTEST_REASON = 15, LONGEST_REASON = 300;
const said = words.pages.agent.work;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

/** A cron expression in words, if it is a time of the day; else as it is. */
export function cronWords(cron) {
  const found = REGULAR.exec(cron);
  if (found === null) return cron;
  const [, minute, hour, days] = found;
  return said.each(said.days[days] ?? said.days["*"], clock.format(new Date(2000, 0, 1, Number(hour), Number(minute))));
}

/**
 * The places where a new plan of everyone can speak: the pickers, and a reason for private ones.
 *
 * @returns {Promise<{node: HTMLElement, given: () => object}>} `given()` has `chat_id` or `user_id`, and `reason`.
 */
export async function placesOf(api, agent) {
  const pickers = {
    user_id: await personPicker(api, { label: said.person }),
    chat_id: await chatPicker(api, { label: said.chat, agentId: agent.id }),
  };
  const reason = el("input", { minlength: SHORTEST_REASON, maxlength: LONGEST_REASON, autocomplete: "off" });
  const why = field(said.why, reason, words.reason.hint);
  const show = (chosen) => {
    for (const [kind, { node }] of Object.entries(pickers)) node.hidden = kind !== chosen;
    why.hidden = chosen === "";
    reason.required = chosen === "user_id"; // a person's items are private; a chat may be open
  };
  const where = select([["user_id", said.toPerson], ["chat_id", said.inChat], ["", said.nowhere]], "user_id", show);
  show("user_id");
  const given = () => {
    const chosen = pickers[where.value]?.control.value;
    return chosen ? { [where.value]: chosen, reason: reason.value.trim() || null } : { reason: null };
  };
  return { node: el("div", { class: "stack" }, field(said.where, where, said.whereHint), Object.values(pickers).map(({ node }) => node), why), given };
}

/** A form for a plan, or for a new one, which replaces one of the same name; `save` gets its values. */
export function planForm(plan, place, save) {
  const name = el("input", { required: true, maxlength: 100, autocomplete: "off", value: plan?.name ?? "", readonly: plan !== null });
  const instruction = el("textarea", { rows: 3, required: true, maxlength: 4000, value: plan?.instruction ?? "" });
  const regular = REGULAR.exec(plan?.cron ?? "");
  const days = select(["*", "1-5", "1", "2", "3", "4", "5", "6", "0"].map((each) => [each, said.days[each]]), regular?.[3] ?? "*", () => {});
  const time = el("input", { type: "time", value: regular === null ? "08:00" : `${regular[2].padStart(2, "0")}:${regular[1].padStart(2, "0")}` });
  const cron = el("input", { autocomplete: "off", spellcheck: "false", value: plan?.cron ?? "" });
  const delay = el("input", { autocomplete: "off", value: plan?.run_after ?? "" });
  const at = el("input", { type: "datetime-local", step: 1, value: localTime(plan?.scheduled_at) });
  const zone = el("input", { autocomplete: "off", required: true, value: plan?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone });
  const zoned = field(said.zone, zone);
  const timings = {
    run_after: { node: field(said.delay, delay, said.delayHint), inputs: [delay], given: () => ({ run_after: delay.value.trim() }) },
    scheduled_at: { node: field(said.time, at), inputs: [at], given: () => ({ scheduled_at: new Date(at.value).toISOString() }) },
    regular: { node: el("div", { class: "row fields" }, field(said.onDays, days), field(said.atTime, time)), inputs: [time], given: () => ({ cron: cronOf(time.value, days.value) }) },
    cron: { node: field(said.cronFields, cron, said.cronHint), inputs: [cron], given: () => ({ cron: cron.value.trim() }) },
  };
  const repeats = (kind) => kind === "regular" || kind === "cron";
  const choose = (kind) => {
    for (const [each, { node, inputs }] of Object.entries(timings)) {
      node.hidden = each !== kind;
      for (const input of inputs) input.required = each === kind;
    }
    zoned.hidden = !repeats(kind);
  };
  const kind = select(Object.keys(timings).map((each) => [each, said.timings[each]]), kindOf(plan, regular), choose);
  choose(kind.value);
  return form([field(said.name, name, plan === null ? said.nameHint : null), field(said.instruction, instruction), place?.node ?? null,
    field(said.timing, kind), Object.values(timings).map(({ node }) => node), zoned], plan === null ? said.create : said.save, () => save({
    name: name.value.trim(), instruction: instruction.value.trim(), ...timings[kind.value].given(),
    ...(repeats(kind.value) ? { time_zone: zone.value.trim() } : {}),
  }, place?.given() ?? null));
}

function kindOf(plan, regular) {
  if (plan?.cron) return regular === null ? "cron" : "regular";
  return plan?.scheduled_at ? "scheduled_at" : "run_after";
}

function cronOf(time, days) {
  const [hour, minute] = time.split(":").map(Number);
  return `${minute} ${hour} * * ${days}`;
}
