// Why a person may see a message, or why not.
import { withQuery } from "../api.js";
import { el } from "../dom.js";
import { personPicker } from "../names.js";
import { card, form, lazy } from "../parts.js";
import { reasonField, reasonFor } from "../reason.js";
import { words } from "../words.js";

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

function explained(found) {
  return [el("strong", {}, found.may_see ? said.yes : said.no), " ", found.why];
}
