// The person's own chats: the list, one chat, and a new one.
import { withQuery } from "../api.js";
import { Conversation } from "../conversation.js";
import { button, el, field, fill, select } from "../dom.js";
import { words } from "../words.js";

const PAGE = 50;
const said = words.pages.chats;

async function show(main, [chatId], context) {
  const { api } = context;
  const list = new ChatList(api, chatId);
  const [me] = await Promise.all([api.get("/v1/me"), list.more()]);
  const place = el("section", { class: "detail" });
  fill(main,
    el("h1", {}, said.name),
    el("div", { class: `split ${chatId ? "has-detail" : ""}` },
      el("section", { class: "master", "aria-label": said.list },
        el("details", { class: "new" }, el("summary", {}, said.start), await newChat(context)),
        list.root),
      place));
  if (chatId === undefined) {
    fill(place, el("p", { class: "empty" }, said.choose));
    return null;
  }
  const chat = await api.get(`/v1/chats/${encodeURIComponent(chatId)}`);
  const conversation = new Conversation(context, api, chat, me.id);
  fill(place,
    el("p", { class: "back" }, el("a", { href: "#/chats" }, said.back)),
    el("h2", {}, titleOf(chat)), conversation.root);
  await conversation.start();
  return () => conversation.stop();
}

class ChatList {
  #api;
  #current;
  #cursor = null;

  constructor(api, current) {
    this.#api = api;
    this.#current = current;
    this.list = el("ul", { class: "links" });
    this.button = button(said.more, () => this.more(), { hidden: true });
    this.root = el("div", {}, this.list, this.button);
  }

  async more() {
    const page = await this.#api.get(withQuery("/v1/chats", { limit: PAGE, cursor: this.#cursor }));
    this.#cursor = page.next_cursor;
    this.button.hidden = this.#cursor === null;
    this.list.append(...page.items.map((chat) => this.#entry(chat)));
    if (this.list.children.length === 0) this.list.append(el("li", { class: "empty" }, said.none));
  }

  #entry(chat) {
    return el("li", {},
      el("a", { href: `#/chats/${encodeURIComponent(chat.id)}`, "aria-current": chat.id === this.#current ? "true" : null },
        el("strong", {}, titleOf(chat)),
        chat.unread > 0 && chat.id !== this.#current ? el("span", { class: "badge" }, said.unread(chat.unread)) : null,
        el("span", { class: "preview" }, chat.last_message?.text ?? "")));
  }
}

async function newChat({ api, session }) {
  const path = session.may("admin") ? "/v1/agents" : "/v1/agents/directory";
  const { items: agents } = await api.get(`${path}?limit=100`);
  if (agents.length === 0) return el("p", { class: "empty" }, said.noAgent);
  const agent = select(agents.map((each) => [each.id, each.name]), agents[0].id, () => {});
  const title = el("input", { maxlength: 200, autocomplete: "off" });
  const failure = el("p", { class: "notice", role: "alert", hidden: true });
  return el("form", { on: { submit: open } }, field(said.agent, agent), field(said.title, title), failure,
    el("button", { class: "primary" }, said.open));

  async function open(event) {
    event.preventDefault();
    try {
      const chat = await api.post("/v1/chats", {
        kind: "direct", title: title.value.trim() || null,
        client_id: crypto.randomUUID(), members: [{ kind: "agent", id: agent.value }],
      });
      location.hash = `#/chats/${encodeURIComponent(chat.id)}`;
    } catch (error) {
      failure.textContent = error.message;
      failure.hidden = false;
    }
  }
}

function titleOf(chat) {
  const names = chat.members.filter((member) => member.kind === "agent").map((member) => member.name);
  return chat.title || names.join(", ") || said.untitled;
}

export default { name: "chats", needs: "chat", show };
