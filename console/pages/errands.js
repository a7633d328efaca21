// Questions that agents take from one person to another, and messages that they bring to many.
// Words of private chats are shown after a reason.
import { withQuery } from "../api.js";
import { el, fill } from "../dom.js";
import { agentsById } from "../names.js";
import { action, card, outcome, part, table, when } from "../parts.js";
import { askReason, reasonFor } from "../reason.js";
import { words } from "../words.js";

const PAGE = 50, SUBJECT = "errands";
const said = words.pages.errands;

async function show(main, args, { api }) {
  const agents = await agentsById(api);
  const errands = el("div", { class: "stack" }), outreach = el("div", { class: "stack" });
  const listErrands = (reason) => list(api, errands, "/v1/errands", { reason }, (items) => errandsTable(items, agents));
  const reason = reasonFor(SUBJECT);
  const ask = reason !== null ? null : askReason(said.reason, SUBJECT, async (given) => {
    await listErrands(given);
    ask.hidden = true;
  });
  await Promise.all([
    listErrands(reason),
    list(api, outreach, "/v1/outreach", {}, (items) => outreachTable(items, agents)),
  ]);
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about),
    card(said.questions, ask, errands), card(said.outreach, outreach));
  return null;
}

/** Show the first items of a list, with a button for more. */
async function list(api, place, path, query, tableOf) {
  const items = [], failure = outcome();
  async function read(cursor) {
    const page = await api.get(withQuery(path, { ...query, limit: PAGE, cursor }));
    items.push(...page.items);
    fill(place, tableOf(items),
      page.next_cursor === null ? null : action(words.parts.more, () => read(page.next_cursor), failure), failure);
  }
  await read(null);
}

function errandsTable(errands, agents) {
  return table(said.questions, [said.question, said.asks, said.asked, said.state, said.answer, said.until, said.agent],
    errands.map((errand) => [
      errand.question ?? el("span", { class: "hint" }, said.withheld), nameOf(errand.asked_by), nameOf(errand.asked),
      said.states[errand.state] ?? errand.state, errand.answer ?? "", when(errand.until), agentOf(errand, agents),
    ]), said.none);
}

function outreachTable(outreach, agents) {
  return table(said.outreach, [said.message, said.people, said.status, said.created, said.agent],
    outreach.map((each) => [
      each.text ?? each.instruction, String(each.size), said.statuses[each.status] ?? each.status,
      when(each.created_at), agentOf(each, agents),
    ]), said.noOutreach);
}

function nameOf(person) { return person.name || words.names.unnamed; }

function agentOf(item, agents) {
  const agent = agents.get(item.agent_id);
  return agent === undefined ? said.gone : el("a", { href: `#/agent/${part(agent.id)}` }, agent.name);
}

export default { name: "errands", needs: "support", show };
