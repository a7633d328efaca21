// Why a person may see a message or an item of an agent, or why not.
import { withQuery } from "../api.js";
import { el, field, select } from "../dom.js";
import { agentPicker, personPicker } from "../names.js";
import { card, form, lazy, part } from "../parts.js";
import { reasonField, reasonFor } from "../reason.js";
import { words } from "../words.js";

const MAX_ID = 128;
const KINDS = ["memory", "own_words", "goal", "plan", "thread", "document", "chat_document", "chat_summary", "agent_summary"];
const said = words.pages.sharing.explanation;

/** The card that asks whether a person may see a message, and why. */
export function explanationCard(api, chatId, seq) {
  return card(said.title, lazy(said.open, () => explanationForm(api, chatId, seq)));
}

async function explanationForm(api, chatId, seq) {
  const person = await personPicker(api, { label: said.person });
  const reason = reasonField(said.reason, reasonFor(`chat/${chatId}`));
  return form([person.node, reason.node], said.ask, async () => {
    const { items: [found] } = await api.get(withQuery("/v1/sharing/why", {
      chat_id: chatId, from_seq: seq, reader_id: person.control.value, reason: reason.given(),
    }));
    return found === undefined ? said.gone : explained(found);
  });
}

/** A form that asks whether a person may see what an agent has made. */
export async function itemForm(api) {
  const [agent, owner, reader] = await Promise.all([
    agentPicker(api, { label: said.agent }),
    personPicker(api, { label: said.owner, none: said.nobody, hint: said.ownerHint }),
    personPicker(api, { label: said.person }),
  ]);
  const kind = select(KINDS.map((each) => [each, said.kinds[each]]), null, () => {});
  const [id, chat] = [true, false].map((required) => el("input", { required, maxlength: MAX_ID, autocomplete: "off", spellcheck: "false" }));
  const reason = reasonField(said.reason);
  const fields = [[field(said.kind, kind), field(said.id, id, said.idHint)], [agent.node, owner.node, field(said.chat, chat, said.chatHint)], [reader.node, reason.node]];
  return form(fields.map((row) => el("div", { class: "row fields" }, row)), said.ask, async () => explained(
    await api.get(withQuery(`/v1/sharing/why/${kind.value}/${part(id.value.trim())}`, {
      agent_id: agent.control.value, reader_id: reader.control.value, user_id: owner.control.value || null, chat_id: chat.value.trim() || null, reason: reason.given(),
    })),
  ));
}

function explained(found) {
  return [el("strong", {}, found.may_see ? said.yes : said.no), " ", found.why];
}
