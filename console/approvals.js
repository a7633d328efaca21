// A call of a tool that waits for an operator, with its arguments.
import { withQuery } from "./api.js";
import { el, fill } from "./dom.js";
import { peopleCards } from "./desk/person.js";
import { copyId } from "./names.js";
import { action, card, facts, outcome, part, verbatim, when } from "./parts.js";
import { askReason, reasonFor } from "./reason.js";
import { words } from "./words.js";

const said = words.approvals;

/** One call: what it would do, the decision, and beside it the person. */
export async function showApproval({ heading, middle: place, side }, context, id) {
  const subject = `approval/${id}`;
  heading.textContent = said.one;
  const { items } = await context.api.get("/v1/approvals");
  const waiting = items.find((each) => each.id === id);
  if (waiting === undefined) {
    fill(place, card(said.gone, el("p", { class: "hint" }, said.goneHint)));
    return;
  }
  const agent = await context.api.get(`/v1/agents/${part(waiting.agent_id)}`).then((found) => found.name, () => words.run.gone);
  fill(side, await peopleCards(context.api, waiting.person ? [waiting.person] : []));
  const look = async (reason) => { fill(place, await decision(context, waiting, agent, reason, place)); };
  if (waiting.private && reasonFor(subject) === null) fill(place, askReason(said.why, subject, look));
  else await look(reasonFor(subject));
}

/** The facts of a call with its arguments, and two buttons. */
async function decision({ api, count }, waiting, agent, reason, place) {
  const path = withQuery(`/v1/approvals/${part(waiting.id)}`, { reason });
  const { arguments: given, made_at: before } = await api.get(path), told = outcome();
  const decide = (chosen) => async () => {
    await api.post(path, { decision: chosen });
    fill(place, card(said.decided[chosen], el("p", { role: "status" }, said.then[chosen](agent))));
    await count();
  };
  const chat = waiting.chat_id;
  return card(waiting.tool, el("p", { class: "hint" }, said.expires),
    facts([
      [said.agent, agent], [said.person, waiting.person && el("a", { href: `#/people/${part(waiting.person)}` }, waiting.person)],
      [said.chat, chat && copyId(chat)], [said.run, el("a", { href: `#/why/run/${part(waiting.run_id)}` }, said.toRun)],
      [said.since, when(waiting.created_at)], [said.before, before.length > 0 ? before.map((at) => el("div", {}, when(at))) : null],
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
