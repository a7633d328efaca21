// Why an agent answered or kept silent: the outcome of a message, and the run behind an answer.
import { withQuery } from "../api.js";
import { el, fill } from "../dom.js";
import { localCall } from "../local.js";
import { named } from "../messages.js";
import { copyId } from "../names.js";
import { card, facts, part, table, when } from "../parts.js";
import { runView } from "../run_view.js";
import { showRuns } from "../runs_list.js";
import { explanationCard } from "../sharing/explanation.js";
import { words } from "../words.js";

const RUN = "run", SMS = "sms";
const said = words.pages.why;

async function show(main, args, context) {
  const { api } = context;
  if (args.length === 0) return showRuns(main, api, null, null);
  if (args[0] === RUN) {
    fill(main, el("h1", {}, said.run), await runView(api, args[1] ?? ""));
    return null;
  }
  if (args[0] === "agent") return showRuns(main, api, args[1], args[2] ?? null);
  if (args[0] === SMS) return showSms(args[1] ?? "");
  const [chatId, seq] = args;
  const found = await api.get(`/v1/chats/${part(chatId)}/messages/${part(seq ?? "")}/reasons`);
  const runId = found.run_id ?? found.agents.flatMap((agent) => agent.runs).at(-1)?.id ?? null;
  const names = await agentNames(api, found.agents.map((agent) => agent.agent_id));
  fill(main,
    el("h1", {}, said.name),
    el("p", { class: "row" }, el("a", { href: `#/chats/${part(chatId)}` }, said.toChat),
      el("a", { href: `#/transcripts/${part(chatId)}` }, said.toTranscript)),
    outcomes(found, names),
    explanationCard(api, chatId, found.seq),
    runId === null ? null : await runView(api, runId));
  return null;
}

/** Go to the message that an SMS of the local stack brought or delivered. */
async function showSms(sid) {
  const { chat_id: chat, seq } = await localCall("GET", withQuery("message", { sid }));
  if (chat === null) throw new Error(said.notFound);
  location.replace(`#/why/${part(chat)}/${seq}`);
  return null;
}

// ---------------------------------------------------------------------- a message

/** What became of a message, for each agent and each phone. */
function outcomes(found, names) {
  const agents = found.agents.filter((each) => each.reason !== "own_message");
  return card(said.message,
    facts([[said.number, found.seq], [said.sender, named(found.sender.name || words.names.unnamed, found)], [said.at, when(found.created_at)],
      [said.correlation, found.correlation_id && copyId(found.correlation_id, said.correlationId)]]),
    agents.length === 0 ? null : table(said.outcomes, [said.agent, said.outcome, said.runs], agents.map((each) => [
      names.get(each.agent_id), each.meaning ?? said.answered,
      each.runs.map((run) => [el("a", { href: `#/why/${RUN}/${part(run.id)}` }, words.runStatuses[run.status] ?? said.gone), " "]),
    ])),
    found.deliveries.length === 0 ? null : table(said.deliveries, [said.number, said.state, said.outcome],
      found.deliveries.map((each) => [each.seq, each.status ?? words.parts.none,
        [each.meaning ?? said.delivered, each.error_codes.length > 0 ? ` (${each.error_codes.join(", ")})` : ""]])));
}

/** The names of agents by id; of a deleted one, words that say so. */
async function agentNames(api, ids) {
  return new Map(await Promise.all(ids.map(async (id) => {
    const name = await api.get(`/v1/agents/${part(id)}`).then((agent) => agent.name, () => words.run.gone);
    return [id, name];
  })));
}

export default { name: "why", needs: "support", show };
