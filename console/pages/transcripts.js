// Chats for operators: the chats of the tenant or an agent, and one chat, which is shown for a reason that is audited.
import { withQuery } from "../api.js";
import { deskActions } from "../desk_actions.js";
import { el, field, fill, select } from "../dom.js";
import { chatName, copyId, personPicker } from "../names.js";
import { action, form, more as foldout, number, outcome, part, table, when } from "../parts.js";
import { askReason } from "../reason.js";
import { Transcript } from "../transcript.js";
import { words } from "../words.js";

const PAGE = 50, MOST_AGENTS = 1000, FORBIDDEN = 403;
const AGENT = "agent";
const said = words.pages.transcripts;

async function show(main, [first, agentId, userId], context) {
  if (first === undefined || first === AGENT) return showChats(main, agentId, userId, context);
  return showChat(main, first, context);
}

// ---------------------------------------------------------------------- the chats of the tenant or an agent

async function showChats(main, agentId, userId, { api }) {
  const agents = await api.items("/v1/agents", MOST_AGENTS);
  const place = el("div", { class: "stack" });
  await more(null, []);
  const go = (agent, user) => {
    location.hash = agent ? `#/transcripts/${AGENT}/${part(agent)}${user ? `/${part(user)}` : ""}` : "#/transcripts";
  };
  const person = agentId === undefined ? null
    : await personPicker(api, { label: said.person, chosen: userId ?? null, none: said.anyPerson, hint: said.personHint });
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about),
    field(said.agent, select([["", said.everyAgent], ...agents.map((each) => [each.id, each.name])], agentId ?? "", (id) => go(id, userId))),
    agentId === undefined ? null
      : form([person.node], said.list, () => go(agentId, person.control.value), { class: "filter" }),
    place);
  return null;

  async function more(cursor, before) {
    const path = agentId === undefined ? "/v1/transcripts" : `/v1/agents/${part(agentId)}/chats`;
    const page = await api.get(withQuery(path, { user_id: userId, limit: PAGE, cursor }));
    const newest = (one, other) => (other.last_message_at ?? "").localeCompare(one.last_message_at ?? "");
    const chats = [...before, ...page.items].sort(newest), failure = outcome();
    fill(place, table(agentId === undefined ? said.everyChat : said.chats, [said.chat, said.newest, said.kind, said.visibility, said.members, said.messages],
      chats.map((chat) => [
        el("a", { href: `#/transcripts/${part(chat.id)}` }, nameOf(chat)), when(chat.last_message_at),
        said.kinds[chat.kind] ?? chat.kind, said.visibilities[chat.visibility] ?? chat.visibility,
        countOf(chat.members), number(chat.last_seq),
      ]), agentId === undefined ? said.noChat : userId ? said.noneWith : said.none),
      page.next_cursor === null ? null : action(words.parts.more, () => more(page.next_cursor, chats), failure), failure);
  }
}

/** What a chat is called: by its members; in the list of an agent, which has their number, by its kind. */
function nameOf(chat) { return Array.isArray(chat.members) ? chatName(chat) : said.kinds[chat.kind] ?? chat.kind; }

function countOf(members) { return number(Array.isArray(members) ? members.length : members); }

// ---------------------------------------------------------------------- one chat

/** Ask for a reason; nothing of the chat is read before. */
async function showChat(main, chatId, context) {
  const place = el("div", { class: "stack" });
  const ask = askReason(said.reason, `chat/${chatId}`, async (reason) => {
    try {
      await new Transcript(context.api, chatId, reason).start(place, (page) => head(context, chatId, page, reason));
    } catch (error) {
      fill(place);
      if (error.status === FORBIDDEN) return `${said.forbidden} ${error.message}`;
      throw error;
    }
    ask.hidden = true;
    return "";
  }, said.read);
  fill(main, el("p", {}, el("a", { href: "#/transcripts" }, said.back)),
    el("h1", {}, said.oneChat), el("p", {}, copyId(chatId)), ask, place);
  return null;
}

/** What stands above the messages of a chat. */
function head(context, chatId, page, reason) {
  return [
    el("h2", {}, page.title ?? said.untitled),
    el("p", { class: "hint" }, said.facts(said.kinds[page.kind] ?? page.kind, said.visibilities[page.visibility] ?? page.visibility)),
    el("p", {}, said.with(page.members.map((member) => member.name || words.names.unnamed).join(", "))),
    foldout(words.desk.stepIn, deskActions(context, chatId, reason)),
  ];
}

export default { name: "transcripts", needs: "support", show };
