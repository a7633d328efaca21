// A phone of a local person with the app: one chat with an agent, or a group, and what the person is asked.
import { Conversation } from "./conversation.js";
import { el, field, fill, select } from "./dom.js";
import { Inbox, consents } from "./inbox.js";
import { apiOf, operatorApi } from "./local.js";
import { chatName } from "./names.js";
import { newChat } from "./new_chat.js";
import { Notifications } from "./notifications.js";
import { KeepBar, ownSharing } from "./own_sharing.js";
import { action, more, outcome, part } from "./parts.js";
import { words } from "./words.js";

const OTHER = "", AGENT = "agent/", CHAT = "chat/";
const said = words.pages.phone;

export class AppPhone {
  #context;
  #agents;
  #people;
  #number;
  #parts = []; // what follows the chat, and ends with it
  #turn = 0;

  /**
   * @param {object} context As pages get it.
   * @param {object[]} agents The agents of the stack.
   * @param {Map<string, object>} people The people of the stack by id.
   * @param {string} personId Whose phone it is at first.
   * @param {number} number Which phone of the page it is, from 1.
   */
  constructor(context, agents, people, personId, number) {
    this.#context = context;
    this.#agents = agents;
    this.#people = people;
    this.#number = number;
    this.name = el("input", { autocomplete: "off", maxlength: 200, on: { change: () => this.open() } });
    this.naming = field(said.otherName, this.name);
    this.person = select([...[...people.values()].map((each) => [each.id, each.name || words.names.unnamed]), [OTHER, said.otherPerson]],
      personId, () => this.open());
    this.chat = select([], null, () => this.open());
    this.place = el("div", {});
    this.group = el("div", {});
    this.unlisted = el("div", {});
    this.outcome = outcome();
    this.root = el("section", { class: "phone", "aria-label": said.phone(number) },
      el("div", { class: "row" }, field(said.person, this.person), this.naming, field(said.chat, this.chat)), this.unlisted, this.group, this.place);
  }

  stop() {
    this.#turn += 1;
    this.#end();
  }

  #end() {
    for (const each of this.#parts) each.stop();
    this.#parts = [];
  }

  /** Show the chosen chat of the chosen person; `made` is one that the list may not have yet. */
  async open({ made = null, chosen = made === null ? this.chat.value : `${CHAT}${made.id}` } = {}) {
    const turn = this.#turn += 1;
    this.#end();
    this.naming.hidden = this.person.value !== OTHER;
    const me = this.person.value === OTHER ? named(this.name.value) : this.#people.get(this.person.value);
    for (const each of [this.place, this.group]) fill(each);
    if (me === null) {
      this.name.focus();
      return;
    }
    try {
      const api = await apiOf({ sub: me.id, name: me.name || undefined });
      const listed = (await api.get("/v1/chats?limit=100")).items.filter((chat) => chat.id !== made?.id);
      const groups = [...(made === null ? [] : [made]), ...listed].filter((chat) => chat.kind === "group" && isMember(chat, me));
      if (turn !== this.#turn) return;
      this.#offer(groups, chosen);
      const people = [...this.#people.values()].filter((each) => each.id !== me.id);
      fill(this.group, more(said.newGroup, newChat(api, this.#agents.filter(isOpen), people, (made) => this.open({ made }))));
      if (this.chat.value === "") return;
      const chat = groups.find((each) => `${CHAT}${each.id}` === this.chat.value) ?? await this.#direct(api);
      if (turn === this.#turn) await this.#show(api, chat, me);
    } catch (error) {
      if (turn === this.#turn) fill(this.place, el("p", { class: "notice", role: "alert" }, error.message));
    }
  }

  #offer(groups, chosen) {
    const agents = this.#agents.map((each) => [`${AGENT}${each.id}`, isOpen(each) ? each.name : said.unlisted(each.name), !isOpen(each)]);
    const chats = groups.map((each) => [`${CHAT}${each.id}`, each.title || chatName(each), false]);
    fill(this.chat, [...agents, ...chats].map(([value, text, disabled]) => el("option", { value, disabled }, text)));
    const open = [...agents, ...chats].filter(([, , disabled]) => !disabled).map(([value]) => value);
    this.chat.value = open.includes(chosen) ? chosen : open[0] ?? "";
    fill(this.unlisted, this.#agents.filter((each) => !isOpen(each)).map((each) =>
      el("p", { class: "hint" }, said.isUnlisted(each.name), " ", action(said.listIt(each.name), () => this.#list(each), this.outcome))), this.outcome);
  }

  /** List an agent, and open the person's chat with it. */
  async #list(agent) {
    Object.assign(agent, await (await operatorApi()).patch(`/v1/agents/${part(agent.id)}`, { listed: true, who_may_add: null }));
    await this.open({ chosen: `${AGENT}${agent.id}` });
  }

  #direct(api) {
    const id = this.chat.value.slice(AGENT.length);
    return api.post("/v1/chats", { kind: "direct", client_id: `console-${id}`, members: [{ kind: "agent", id }] });
  }

  async #show(api, chat, me) {
    const accepted = async (id) => this.open({ made: await api.get(`/v1/chats/${part(id)}`) });
    const inbox = new Inbox(this.#context, api, me.id, accepted, chat.id), keep = new KeepBar(api, chat.id);
    const follower = {
      frame: (frame) => {
        for (const each of [inbox, keep]) each.frame(frame);
        if (frame.type === "chat" && isMember(frame.chat, me)) this.#joined(frame.chat);
      },
      stateChanged: (state) => [inbox, keep].forEach((each) => each.stateChanged(state)),
    };
    const conversation = new Conversation(this.#context, api, chat, me.id, follower, said.messagesOn(this.#number));
    const rung = new Notifications(this.#context, api, me.id, (hidden) => conversation.hide(hidden));
    this.#parts = [inbox, conversation, rung];
    fill(this.place, el("div", { class: "stack" }, inbox.root, keep.root, conversation.root, rung.root, consents(api), ownSharing(api)));
    inbox.start();
    keep.refresh();
    rung.start();
    conversation.text.focus();
    await conversation.start();
  }

  /** Offer a group that the person has joined meanwhile. */
  #joined(chat) {
    const value = `${CHAT}${chat.id}`;
    if (chat.kind !== "group" || [...this.chat.options].some((each) => each.value === value)) return;
    this.chat.append(el("option", { value }, chat.title || chatName(chat)));
  }
}

/** Whether people may open a chat with an agent. */
function isOpen(agent) { return agent.who_may_add === null ? agent.listed : agent.who_may_add === "anyone"; }

function isMember(chat, me) { return chat.members.some((each) => each.id === me.id && each.state !== "invited"); }

/** Return the person of a name, whose id is the name in small letters; null without a name. */
function named(name) {
  const id = name.trim().toLowerCase().replace(/[^!-~]+/g, "-").slice(0, 128);
  return id === "" ? null : { id, name: name.trim() };
}
