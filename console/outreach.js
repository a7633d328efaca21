// Messages that agents bring to many people: what has become of each person, and ways to pause, resume and cancel.
import { el, fill } from "./dom.js";
import { agentLink } from "./names.js";
import { action, announce, card, facts, listTable, more, number, outcome, part, table, when } from "./parts.js";
import { words } from "./words.js";

const PATH = "/v1/outreach", MOST_NAMES = 1000;
const TURNS = { active: "paused", paused: "active" }; // the state that a button sets
const said = words.pages.errands;

/** The card of the tenant's outreach. */
export async function outreachCard(api, agents) {
  const place = el("div", { class: "stack" }), report = el("div", { class: "stack", tabindex: -1 });

  function refresh() { return listTable(api, place, PATH, {}, (items) => tableOf(items)); }

  async function set(outreach, status) {
    await api.patch(`${PATH}/${part(outreach.id)}`, { status });
    await refresh();
    announce(said.statuses[status]);
  }
  async function show(outreach) {
    fill(report, await reportOf(api, outreach.id));
    report.focus();
  }
  function tableOf(items) {
    return table(said.outreach, [said.message, said.people, said.status, said.created, said.agent, said.actions],
      items.map((each) => [
        each.text ?? each.instruction, number(each.size), said.statuses[each.status] ?? each.status, when(each.created_at),
        agentLink(each.agent_id, agents), actionsOf(each, set, show),
      ]), said.noOutreach);
  }
  await refresh();
  return card(said.outreach, place, report);
}

/** The report of an outreach, and what its state allows. */
function actionsOf(outreach, set, show) {
  const place = outcome(), turned = TURNS[outreach.status], text = outreach.text ?? outreach.instruction;
  const labeled = (label) => ({ "aria-label": said.labeled(label, text) });
  return el("div", { class: "row start" },
    action(said.report, () => show(outreach), place, labeled(said.report)),
    turned === undefined ? null : [
      action(said.turns[turned], () => set(outreach, turned), place, labeled(said.turns[turned])),
      more(said.cancel, el("p", {}, said.aboutCancel), action(said.cancelNow, () => set(outreach, "canceled"), place, labeled(said.cancelNow))),
    ], place);
}

/** What has become of each person. */
async function reportOf(api, id) {
  const [outreach, users] = await Promise.all([api.get(`${PATH}/${part(id)}`), api.items("/v1/users", MOST_NAMES)]);
  const names = new Map(users.map((user) => [user.id, user.name || words.names.unnamed]));
  return [
    el("h3", {}, said.labeled(said.report, outreach.text ?? outreach.instruction)),
    facts(Object.entries(outreach.counts).map(([state, count]) => [said.personStates[state] ?? state, number(count)])),
    table(said.report, [said.person, said.state, said.why, said.next, said.chat], outreach.people.map((each) => [
      el("a", { href: `#/people/${part(each.user_id)}` }, names.get(each.user_id) ?? each.user_id),
      said.personStates[each.state] ?? each.state, each.meaning ?? "", when(each.next_at),
      each.chat_id === null ? "" : el("a", { href: `#/transcripts/${part(each.chat_id)}` }, said.toChat),
    ])),
  ];
}
