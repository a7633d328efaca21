// Names in place of ids: who and what an id stands for, pickers by name, and a button that copies an id.
import { withQuery } from "./api.js";
import { el, field, fill, select } from "./dom.js";
import { action, outcome, part } from "./parts.js";
import { words } from "./words.js";

const FIRST = 100, MOST_AGENTS = 1000, MOST_CHATS = 100, MOST_NAMES = 4, PAUSE_MS = 300;
const said = words.names;
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** A button that copies an id; where the browser refuses, it shows the id. */
export function copyId(id, what = said.id) {
  const place = outcome();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(id);
      return said.copied;
    } catch {
      return el("code", {}, id);
    }
  };
  return el("span", { class: "copy" }, action(said.copy(what), copy, place, { class: "link", title: id }), place);
}

/** The agents of the tenant by id. */
export async function agentsById(api) {
  return new Map((await api.items("/v1/agents", MOST_AGENTS)).map((agent) => [agent.id, agent]));
}

/** A link to an agent by its name; of a deleted one, words that say so. */
export function agentLink(id, agents) {
  const agent = agents.get(id);
  return agent === undefined ? words.run.gone : el("a", { href: `#/agent/${part(id)}` }, agent.name);
}

/** The names of people by id; of a person who is gone, words that say so. */
export async function peopleNames(api, ids) {
  const named = async (id) => [id, await api.get(`/v1/users/${part(id)}`).then((user) => user.name || said.unnamed, () => said.gone)];
  return new Map(await Promise.all([...new Set(ids)].map(named)));
}

/** What a chat is called by its members; the people first, who tell chats of one agent apart. */
export function chatName({ members, kind }) {
  const name = ({ name }) => name || said.unnamed;
  const people = members.filter((member) => member.kind === "user"), agents = members.filter((member) => member.kind === "agent");
  const shown = [...people, ...agents].slice(0, MOST_NAMES).map(name).join(", ");
  const names = members.length > MOST_NAMES ? said.andOthers(shown, members.length - MOST_NAMES) : shown;
  return kind === "group" ? said.group(names) : names || said.nobody;
}

/**
 * A field that chooses a person by name; with many people, a search comes first.
 *
 * @param {{label: string, chosen?: string|null, none?: string|null, hint?: string|null}} given `none`
 *   is the text of no person; null if one must be chosen.
 * @returns {Promise<{node: HTMLElement, control: HTMLSelectElement}>} The value of the control is the id.
 */
export async function personPicker(api, { label, chosen = null, none = null, hint = null }) {
  const page = await api.get(`/v1/users?limit=${FIRST}`);
  const control = select([], null, () => {});
  const offer = (users) => {
    const kept = control.value || chosen;
    const twice = (name) => users.filter((user) => user.name === name).length > 1;
    fill(control, none === null ? null : el("option", { value: "" }, none),
      users.map((user) => el("option", { value: user.id }, nameIn(user, twice(user.name)))));
    if (kept && users.some((user) => user.id === kept)) control.value = kept;
  };
  const known = page.items.some((user) => user.id === chosen) || !chosen ? [] : [{ id: chosen, name: (await peopleNames(api, [chosen])).get(chosen) }];
  offer([...known, ...page.items]);
  if (page.next_cursor === null) return { node: field(label, control, hint), control };
  const text = el("input", { type: "search", autocomplete: "off", maxlength: 200 });
  let timer = null;
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const wanted = text.value.trim();
      const found = wanted === "" ? page : await api.get(withQuery("/v1/users", { q: wanted, limit: FIRST })).catch(() => page);
      offer(found.items);
    }, PAUSE_MS);
  });
  return { node: el("div", { class: "picker" }, field(said.find(label), text), field(label, control, hint)), control };
}

const nameIn = (user, withId) => `${user.name || said.unnamed}${withId ? ` (${user.id})` : ""}`;

/** A field that chooses an agent by name; its value is the id. */
export async function agentPicker(api, { label }) {
  const agents = await api.items("/v1/agents", MOST_AGENTS);
  const control = select(agents.map((each) => [each.id, each.name]), null, () => {});
  return { node: field(label, control), control };
}

/** A field that chooses a chat of an agent by its members; its value is the id. */
export async function chatPicker(api, { label, agentId = null, chosen = null, none = null, hint = null }) {
  const { items } = await api.get(`/v1/transcripts?limit=${MOST_CHATS}`);
  const own = items.filter((chat) => chat.discarded_at === null && (agentId === null || chat.members.some((member) => member.id === agentId)));
  const shown = own.map((chat) => [chat.id, chat.last_message_at ? said.newest(chatName(chat), day.format(new Date(chat.last_message_at))) : chatName(chat)]);
  if (chosen && !own.some((chat) => chat.id === chosen)) shown.unshift([chosen, said.otherChat]);
  const control = select([...(none === null ? [] : [["", none]]), ...shown], chosen ?? null, () => {});
  return { node: field(label, control, hint), control };
}
