// Messages as people and operators see them: who sent them, and the mark of the team.
import { choiceView } from "./choices.js";
import { el } from "./dom.js";
import { mediaView } from "./media.js";
import { when } from "./parts.js";
import { words } from "./words.js";

const said = words.messages;

/** Return the name of a message's sender, with the agent whose words the person agreed to post. */
export function senderOf(name, via) { return via ? said.by(name, via.agent_name) : name; }

/** Return a name with the mark of the team, if a person of the team sent the message. */
export function named(name, { sender }) {
  return sender.kind === "team" ? [name, " ", el("span", { class: "badge" }, said.team)] : [name];
}

/** The places of the sources that a message cites; null for none. */
export function citations({ sources }) {
  if (!sources || sources.length === 0) return null;
  const places = sources.map(({ source_id: id, place, url }) => el("li", {}, [place || id, url].filter(Boolean).join(", ")));
  return el("ul", { class: "hint", "aria-label": said.sources }, places);
}

/** Whether a message has words of a person, of an agent or of the team. */
export function isWords({ kind }) { return kind === "text" || kind === "team"; }

/**
 * Make the `<li>` of a message for operators, who are in no chat.
 *
 * @param {object} message The message.
 * @param {(id: string) => string} nameOf Returns the name of a person.
 * @param {object} more A hint below (`mark`), the label of the link to Why (`why`), and how to load a
 *   file (`load`).
 */
export function operatorRow(message, nameOf, { mark = null, why = null, load = null } = {}) {
  const { sender, kind, seq } = message;
  if (kind === "deleted" || kind === "erased") return el("li", { class: "notice" }, words.conversation.gone[kind]);
  const name = sender.name || words.names.unnamed, label = sender.kind === "agent" ? words.conversation.whyOf(name) : why;
  return el("li", { class: `bubble ${sender.kind === "user" ? "theirs" : "mine"}`, "data-silent": mark !== null },
    el("p", { class: "sender" }, named(senderOf(name, message.via), message)),
    el("p", { class: "text" }, message.choice?.question ?? message.text),
    load === null ? null : mediaView(message.media, load), citations(message),
    message.choice ? choiceView(message.choice, null, nameOf) : null,
    el("p", { class: "meta" }, when(message.created_at), mark === null ? null : el("span", {}, mark),
      label === null ? null : el("a", { href: `#/why/${encodeURIComponent(message.chat_id)}/${seq}`, "aria-label": label }, words.conversation.why)));
}
