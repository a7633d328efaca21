// Putting a chat on the desk and taking it over.
import { withQuery } from "./api.js";
import { el, field } from "./dom.js";
import { action, form, outcome, part } from "./parts.js";
import { words } from "./words.js";

const said = words.desk;
const LONGEST_NAME = 200, CONFLICT = 409;

/** Return the path of a chat on the desk. */
export function deskPath(chatId, rest = "") { return `/v1/chats/${part(chatId)}/desk${rest}`; }

/**
 * A form that takes a chat over, and a button that puts it on the desk.
 *
 * @param {object} context As pages get it.
 * @param {string} chatId The chat.
 * @param {string|null} reason Why, for a private chat.
 * @param {boolean} waits Whether the chat is on the desk already.
 * @param {(told: string|null) => Promise|void} done Called with what has happened; with null if
 *   somebody else holds the chat. Default: show the chat's page on the desk.
 */
export function deskActions({ api, session }, chatId, reason, waits = false, done = () => { location.hash = `#/desk/${part(chatId)}`; }) {
  const name = el("input", { required: true, maxlength: LONGEST_NAME, autocomplete: "off", value: session.claims.name ?? session.claims.sub ?? "" });
  const path = withQuery(deskPath(chatId), { reason }), place = outcome();

  async function attempt(run, told) {
    try {
      await run();
    } catch (error) {
      if (error.status === CONFLICT) await done(null);
      throw error;
    }
    await done(told);
  }
  const take = () => attempt(() => api.call("PUT", path, { holder: "me", name: name.value.trim() }), said.isYours);
  const put = () => attempt(() => api.call("POST", path), said.isWaiting);
  return el("div", { class: "stack" },
    form([field(said.yourName, name, said.yourNameHint)], said.takeOver, take, { class: "take" }),
    waits ? null : el("div", { class: "stack" }, el("p", { class: "hint" }, said.putHint), el("div", {}, action(said.put, put, place)), place));
}
