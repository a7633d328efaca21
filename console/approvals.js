// Calls of tools that wait for an operator: their list, and one of them with its arguments.
import { withQuery } from "./api.js";
import { el, fill } from "./dom.js";
import { copyId } from "./names.js";
import { action, card, facts, outcome, part, table, verbatim, when } from "./parts.js";
import { askReason, reasonFor } from "./reason.js";
import { words } from "./words.js";

const said = words.approvals;

/** The card of all calls that wait; null if none does. */
export function approvalsCard(items, agents) {
  if (items.length === 0) return null;
  return card(said.title, el("p", { class: "hint" }, said.hint), table(said.title, [said.tool, said.agent, said.person, said.since],
    items.map((each) => [
      [el("a", { href: `#/desk/approvals/${part(each.id)}` }, each.tool), " ", each.private ? el("span", { class: "badge soft" }, said.private) : null],
      agents.get(each.agent_id) ?? words.run.gone, each.person ?? words.parts.none, when(each.created_at),
    ])));
}

/** One call: what it would do, and the decision. */
export async function showApproval(main, context, id) {
  const place = el("div", { class: "stack" }), subject = `approval/${id}`;
  fill(main, el("p", {}, el("a", { href: "#/desk" }, words.pages.desk.back)), el("h1", {}, said.one), place);
  const { items } = await context.api.get("/v1/approvals");
  const waiting = items.find((each) => each.id === id);
  if (waiting === undefined) {
    fill(place, card(said.gone, el("p", { class: "hint" }, said.goneHint)));
    return;
  }
  const agent = await context.api.get(`/v1/agents/${part(waiting.agent_id)}`).then((found) => found.name, () => words.run.gone);
  const look = async (reason) => { fill(place, await decision(context, waiting, agent, reason, place)); };
  if (waiting.private && reasonFor(subject) === null) fill(place, askReason(said.why, subject, look));
  else await look(reasonFor(subject));
}

/** The facts of a call with its arguments, and two buttons. */
async function decision({ api, count }, waiting, agent, reason, place) {
  const path = withQuery(`/v1/approvals/${part(waiting.id)}`, { reason });
  const { arguments: given } = await api.get(path), told = outcome();
  const decide = (chosen) => async () => {
    await api.post(path, { decision: chosen });
    fill(place, card(said.decided[chosen], el("p", { role: "status" }, said.then[chosen](agent))));
    await count();
  };
  const chat = waiting.chat_id;
  return card(waiting.tool,
    facts([
      [said.agent, agent], [said.person, waiting.person && el("a", { href: `#/people/${part(waiting.person)}` }, waiting.person)],
      [said.chat, chat && copyId(chat)], [said.run, el("a", { href: `#/why/run/${part(waiting.run_id)}` }, said.toRun)],
      [said.since, when(waiting.created_at)],
    ]),
    el("h3", {}, said.arguments), given === null ? el("p", { class: "empty" }, said.erased) : verbatim(pretty(given), said.arguments),
    el("div", { class: "row" }, action(said.approve, decide("approved"), told, { class: "primary" }), action(said.refuse, decide("refused"), told)),
    told);
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // the model's words, which are shown as they are
  }
}
