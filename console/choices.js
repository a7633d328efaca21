// Choices: a question to one person, with buttons or a field for the answer, and how it ended.
import { el, field } from "./dom.js";
import { action, form, outcome, part, when } from "./parts.js";
import { words } from "./words.js";

const said = words.choices;

/** Post the answer to a question: `{ option }`, or `{ text }` for words. */
export function postAnswer(api, chatId, seq, answer) {
  return api.post(`/v1/chats/${part(chatId)}/messages`, { choice: { seq, ...answer }, client_id: crypto.randomUUID() });
}

/** Accept or decline an invitation to a chat. */
export function answerInvitation(api, chatId, accept) {
  return api.post(`/v1/chats/${part(chatId)}/invitation`, { accept });
}

/**
 * Show the state of a message's choice, and let its addressee answer.
 *
 * @param {object} choice The choice of a message.
 * @param {string|null} me The id of the person; null for readers who are in no chat.
 * @param {(id: string) => string} nameOf Returns the name of a person.
 * @param {(answer: object) => Promise} send Posts the answer.
 */
export function choiceView(choice, me, nameOf, send) {
  const { options, status, answer, addressee, expires_at: until } = choice;
  const mine = addressee === me;
  if (status === "open" && mine) return [answerControls(choice, send), el("p", { class: "hint" }, said.until, " ", when(until))];
  const labels = options.length > 0 ? el("p", { class: "hint" }, said.options(options.map((each) => each.label).join(", "))) : null;
  if (status === "open") return [labels, el("p", { class: "hint" }, said.waitsFor(nameOf(addressee)), " ", when(until))];
  const chosen = options.find((each) => each.id === answer?.option)?.label;
  const ended = status === "expired" ? said.expired : chosen ? said.answered(chosen) : said.answeredInWords;
  return [labels, el("p", { class: "answered", "data-choice": status }, ended)];
}

/** Buttons for the options of a question, or a field for words. */
function answerControls({ question, options }, send) {
  if (options.length === 0) {
    const text = el("textarea", { rows: 2, maxlength: 32000, required: true });
    return form([field(said.words, text)], said.send, async () => { await send({ text: text.value.trim() }); });
  }
  const place = outcome();
  return el("div", { class: "options", role: "group", "aria-label": question },
    options.map((each) => action(each.label, async () => { await send({ option: each.id }); }, place)), place);
}
