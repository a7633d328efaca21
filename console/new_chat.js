// Forms that open a chat: one with an agent, or a group of people and agents.
import { el, field } from "./dom.js";
import { form } from "./parts.js";
import { words } from "./words.js";

const MOST_TITLE = 200;
const said = words.newChat;

/**
 * A form that opens a chat. With one agent and nobody else, the chat is direct; otherwise a group.
 *
 * @param {Api} api The API of the person who opens it.
 * @param {object[]} agents The agents to choose from.
 * @param {object[]} people The people to choose from; empty for those who may not see a list.
 * @param {(chat: object) => void} opened Called with the new chat.
 */
export function newChat(api, agents, people, opened) {
  const title = el("input", { maxlength: MOST_TITLE, autocomplete: "off" });
  const chosenAgents = new Choice("agent", said.agents, agents);
  const chosenPeople = new Choice("user", said.people, people);
  let clientId = crypto.randomUUID(); // a second try opens no second chat
  return form([chosenAgents.root, people.length > 0 ? chosenPeople.root : null, field(said.title, title)], said.open, async () => {
    const members = [...chosenAgents.members, ...chosenPeople.members];
    if (members.length === 0) return said.nobody;
    const kind = members.length === 1 && members[0].kind === "agent" ? "direct" : "group";
    const chat = await api.post("/v1/chats", { kind, title: title.value.trim() || null, client_id: clientId, members });
    clientId = crypto.randomUUID();
    await opened(chat);
    return kind === "group" && chosenPeople.members.length > 0 ? said.invited : "";
  });
}

/** Members of one kind, each with a box to check. */
class Choice {
  #kind;
  #boxes;

  constructor(kind, legend, offered) {
    this.#kind = kind;
    this.#boxes = offered.map((each) => [el("input", { type: "checkbox", value: each.id }), each.name || words.names.unnamed]);
    this.root = el("fieldset", { class: "choice" }, el("legend", {}, legend),
      el("ul", { class: "checks" }, this.#boxes.map(([box, name]) => el("li", {}, el("label", { class: "check" }, box, el("span", {}, name))))));
  }

  get members() { return this.#boxes.filter(([box]) => box.checked).map(([box]) => ({ kind: this.#kind, id: box.value })); }
}
