// Questions that agents take from one person to another, and messages that they bring to many.
// Words of private chats are shown after a reason.
import { el, fill } from "../dom.js";
import { agentLink, agentsById } from "../names.js";
import { outreachCard } from "../outreach.js";
import { card, listTable, table, when } from "../parts.js";
import { askReason, reasonFor } from "../reason.js";
import { words } from "../words.js";

const SUBJECT = "errands";
const said = words.pages.errands;

async function show(main, args, { api }) {
  const agents = await agentsById(api);
  const errands = el("div", { class: "stack" });
  const listErrands = (reason) => listTable(api, errands, "/v1/errands", { reason }, (items) => errandsTable(items, agents));
  const reason = reasonFor(SUBJECT);
  const ask = reason !== null ? null : askReason(said.reason, SUBJECT, async (given) => {
    await listErrands(given);
    ask.hidden = true;
  });
  const [outreach] = await Promise.all([outreachCard(api, agents), listErrands(reason)]);
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about),
    card(said.questions, ask, errands), outreach);
  return null;
}

function errandsTable(errands, agents) {
  return table(said.questions, [said.question, said.asks, said.asked, said.state, said.answer, said.until, said.agent],
    errands.map((errand) => [
      errand.question ?? el("span", { class: "hint" }, said.withheld), nameOf(errand.asked_by), nameOf(errand.asked),
      said.states[errand.state] ?? errand.state, errand.answer ?? "", when(errand.until), agentLink(errand.agent_id, agents),
    ]), said.none);
}

function nameOf(person) { return person.name || words.names.unnamed; }

export default { name: "errands", needs: "support", show };
