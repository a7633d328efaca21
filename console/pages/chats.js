// The person's own chats: the list, one chat, and a new one.
import { withQuery } from "../api.js";
import { Conversation } from "../conversation.js";
import { button, el, fill } from "../dom.js";
import { Inbox, accesses, consents } from "../inbox.js";
import { Live } from "../live.js";
import { members } from "../members.js";
import { newChat } from "../new_chat.js";
import { KeepBar, ownSharing } from "../own_sharing.js";
import { when } from "../parts.js";
import { words } from "../words.js";

const PAGE = 50;
const said = words.pages.chats;

/** Whether operators may read the person's chats, and since when. */
function reading({ on, since }) {
  return el("p", { class: "hint" }, on ? said.operatorsRead : said.operatorsDoNotRead,
    since && [" ", said.readingSince, " ", when(since)]);
}

async function show(main, [chatId], context) {
  const { api, config } = context;
  const me = await api.get("/v1/me");
  const accepted = (id) => { location.hash = `#/chats/${encodeURIComponent(id)}`; };
  const inbox = new Inbox(context, api, me.id, accepted, chatId);
  const list = new ChatList(api, me.id, chatId), keep = new KeepBar(api, chatId);
  await Promise.all([list.more(), inbox.start()]);
  const follower = {
    frame: (frame) => [list, inbox, keep].forEach((each) => each.frame(frame)),
    stateChanged: (state) => [list, inbox, keep].forEach((each) => each.stateChanged(state)),
  };
  const place = el("section", { class: "detail" });
  fill(main,
    el("h1", {}, said.name),
    reading(me.operators_read_chats),
    el("div", { class: `split ${chatId ? "has-detail" : ""}` },
      el("section", { class: "master", "aria-label": said.list },
        el("details", { class: "new" }, el("summary", {}, said.start), await starting(context, me.id)),
        inbox.root, list.root, consents(api), ownSharing(api), accesses(api)),
      place));
  if (chatId === undefined) {
    fill(place, el("p", { class: "empty" }, said.choose));
    if (!config.live) return () => inbox.stop();
    const live = new Live(api, follower.frame, follower.stateChanged);
    live.start();
    return () => {
      live.stop();
      inbox.stop();
    };
  }
  const chat = await api.get(`/v1/chats/${encodeURIComponent(chatId)}`);
  const title = el("h2", {}), invited = el("p", { class: "hint" }), people = el("div", {});
  list.onchange = (changed) => {
    title.textContent = titleOf(changed);
    invited.textContent = invitedTo(changed);
    fill(people, members(api, changed, me.id, list.onchange, people.querySelector("details")?.open ?? false,
      async () => Object.values(await offered(context, me.id)).flat()));
  };
  list.onchange(chat);
  const conversation = new Conversation(context, api, chat, me.id, follower);
  fill(place,
    el("p", { class: "back" }, el("a", { href: "#/chats" }, said.back)),
    title, invited, people, keep.root, conversation.root);
  await Promise.all([conversation.start(), keep.refresh()]);
  return () => {
    conversation.stop();
    inbox.stop();
  };
}

/** The person's chats, the one with the newest message first. It follows the live channel. */
class ChatList {
  #api;
  #me;
  #current;
  #cursor = null;
  #chats = new Map(); // by id
  #entries = new Map(); // the nodes, by id

  /**
   * @param {string} me The id of the person.
   * @param {string|undefined} current The id of the chat that is open.
   */
  constructor(api, me, current) {
    this.#api = api;
    this.#me = me;
    this.#current = current;
    this.onchange = () => {}; // called with the open chat when it has changed
    this.list = el("ul", { class: "links" });
    this.none = el("p", { class: "empty", hidden: true }, said.none);
    this.button = button(said.more, () => this.more(), { hidden: true });
    this.root = el("div", {}, this.list, this.none, this.button);
  }

  async more() {
    const page = await this.#page(this.#cursor);
    this.#cursor = page.next_cursor;
    this.button.hidden = this.#cursor === null;
    for (const chat of page.items) this.#put(chat, null);
    this.#count();
  }

  /** Take a frame of the live channel. */
  frame(frame) {
    const chat = this.#chats.get(frame.chat_id);
    if (frame.type === "chat") this.#changed(frame.chat);
    else if (frame.type === "removed") this.#left(frame.chat_id);
    else if (frame.type === "read" && chat && frame.member.id === this.#me) this.#put({ ...chat, unread: 0 });
    else if (frame.type === "message" && chat === undefined) this.#read(frame.chat_id);
    else if (frame.type === "message") this.#posted(chat, frame.message);
    else if (frame.type === "resync" || frame.type === "changed") this.#read(frame.chat_id);
  }

  /** With each connection, read what was missed before: after a lost one, or since the page was read. */
  async stateChanged(state) {
    if (state !== "connected") return;
    const page = await this.#page(null).catch(() => ({ items: [] })); // the next connection reads again
    for (const chat of page.items.reverse()) this.#put(chat, this.list.firstChild);
    this.#count();
  }

  #page(cursor) { return this.#api.get(withQuery("/v1/chats", { limit: PAGE, cursor })); }

  #changed(chat) {
    if (chat.id === this.#current) this.onchange(chat);
    const isMember = chat.members.some((member) => member.id === this.#me && member.state !== "invited");
    if (chat.discarded_at !== null || !isMember) this.#remove(chat.id);
    else if (this.#chats.has(chat.id)) this.#put({ ...this.#chats.get(chat.id), ...chat });
    else this.#put({ unread: 0, last_message: null, ...chat }, this.list.firstChild);
    this.#count();
  }

  #posted(chat, message) {
    if (message.seq <= (chat.last_message?.seq ?? 0)) return; // repeated
    const mine = message.sender.kind === "user" && message.sender.id === this.#me;
    this.#put({ ...chat, last_message: message, unread: mine ? 0 : chat.unread + 1 }, this.list.firstChild);
  }

  /** Read one chat again, since a frame did not say enough. */
  async #read(id) {
    const { items } = await this.#page(null).catch(() => ({ items: [] })); // the next frame reads again
    const chat = items.find((each) => each.id === id);
    if (chat) this.#put(chat, this.#chats.has(id) ? undefined : this.list.firstChild);
    this.#count();
  }

  /** Show a chat before a node; at its place, or last, without one. */
  #put(chat, before) {
    const old = this.#entries.get(chat.id), made = this.#entry(chat);
    const focused = old?.contains(document.activeElement);
    this.#chats.set(chat.id, chat);
    this.#entries.set(chat.id, made);
    if (old && !before) old.replaceWith(made);
    else {
      this.list.insertBefore(made, before === old ? old.nextSibling : before ?? null);
      old?.remove();
    }
    if (focused) made.firstChild.focus();
  }

  #remove(id) {
    this.#entries.get(id)?.remove();
    this.#entries.delete(id);
    this.#chats.delete(id);
  }

  #left(id) {
    this.#remove(id);
    this.#count();
  }

  #count() { this.none.hidden = this.#chats.size > 0; }

  #entry(chat) {
    return el("li", {},
      el("a", { href: `#/chats/${encodeURIComponent(chat.id)}`, "aria-current": chat.id === this.#current ? "true" : null },
        el("strong", {}, titleOf(chat)),
        chat.unread > 0 && chat.id !== this.#current ? el("span", { class: "badge" }, said.unread(chat.unread)) : null,
        el("span", { class: "preview" }, chat.last_message?.text ?? "")));
  }
}

/** Whom the person may choose for a chat: agents and, for operators, people. */
async function offered({ api, session }, me) {
  const support = session.may("support");
  const [{ items: agents }, { items: users }] = await Promise.all([
    api.get(`${support ? "/v1/agents" : "/v1/agents/directory"}?limit=100`), support ? api.get("/v1/users?limit=100") : { items: [] },
  ]);
  const as = (kind) => ({ id, name }) => ({ kind, id, name });
  return { agents: agents.map(as("agent")), people: users.filter((user) => user.id !== me).map(as("user")) };
}

/** A form for a new chat. */
async function starting(context, me) {
  const { agents, people } = await offered(context, me);
  if (agents.length === 0) return el("p", { class: "empty" }, said.noAgent);
  return newChat(context.api, agents, people, (chat) => { location.hash = `#/chats/${encodeURIComponent(chat.id)}`; });
}

function titleOf(chat) {
  const names = chat.members.filter((member) => member.kind === "agent").map((member) => member.name);
  return chat.title || names.join(", ") || said.untitled;
}

/** Say who has not accepted the invitation to a chat yet; nothing without such people. */
function invitedTo(chat) {
  const names = chat.members.filter((member) => member.state === "invited").map((member) => member.name || words.names.unnamed);
  return names.length > 0 ? said.invited(names.join(", ")) : "";
}

export default { name: "chats", needs: "chat", show };
