// A chat: its messages, the agents at work, and a field to write in. It follows the live channel.
import { choiceView, postAnswer } from "./choices.js";
import { button, el, fill } from "./dom.js";
import { Live } from "./live.js";
import { Attachments, fileAt, mediaView, upload } from "./media.js";
import { citations, isWords, named, senderOf } from "./messages.js";
import { WindowList } from "./window_list.js";
import { words } from "./words.js";

const PAGE = 100, TYPING_MS = 3_000, POLL_MS = 4_000;
const said = words.conversation;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export class Conversation {
  #api;
  #chat;
  #me;
  #context;
  #list;
  #live = null;
  #hidden = false; // the app is in the background
  #poll = null;
  #last = 0;
  #first = null;
  #catching = null;
  #again = false;
  #ended = false;
  #follower;
  #typed = 0;
  #agents = new Map(); // by id: name, status, text that streams, reason
  #pending = new Map(); // own messages that are on their way, by client id

  /**
   * @param {object} context As pages get it.
   * @param {Api} api The API of the person.
   * @param {object} chat The chat.
   * @param {string} me The id of the person.
   * @param {object} follower Gets all frames and states of the live channel, too: `frame(frame)` and
   *   `stateChanged(state)`.
   * @param {string} label What a screen reader calls the messages.
   */
  constructor(context, api, chat, me, follower = null, label = said.messages) {
    this.#context = context;
    this.#api = api;
    this.#chat = chat;
    this.#me = me;
    this.#follower = follower;
    this.#list = new WindowList(label, (item) => this.#row(item), () => this.#older());
    this.state = el("p", { class: "state", role: "status" }, said.states.connecting);
    this.activity = el("ul", { class: "activity", "aria-live": "polite" });
    this.text = el("textarea", {
      rows: 2, maxlength: 32000, placeholder: said.placeholder, "aria-label": said.compose,
      on: { keydown: (event) => this.#key(event), input: () => this.#typing() },
    });
    this.attachments = new Attachments();
    this.form = el("form", { class: "composer", on: { submit: (event) => this.#submit(event) } },
      this.attachments.input, this.attachments.button, this.text, el("button", { class: "primary" }, said.send));
    this.#list.root.append(this.activity); // scrolls with the messages, so that drafts move nothing else
    this.root = el("div", { class: "conversation" }, this.state, this.#list.root, this.attachments.list, this.form);
  }

  /** Read the newest messages and follow the chat; the root must be in the page. */
  async start() {
    const page = await this.#page({ limit: PAGE });
    if (this.#ended) return;
    this.#list.reset(page.map(itemOf));
    this.#seen(page);
    if (this.#context.config.live) {
      this.#live = new Live(this.#api, (frame) => this.#frame(frame), (state) => this.#stateChanged(state));
      this.#live.start();
    } else {
      this.#poll = setInterval(() => this.#catchUp(), POLL_MS);
      this.state.textContent = "";
    }
  }

  stop() {
    this.#ended = true;
    this.#live?.stop();
    clearInterval(this.#poll);
  }

  // ------------------------------------------------------------------ reading

  async #page(query) {
    const path = `/v1/chats/${encodeURIComponent(this.#chat.id)}/messages?${new URLSearchParams(query)}`;
    return (await this.#api.get(path)).items;
  }

  async #older() {
    if (this.#first === null || this.#first <= 1) return [];
    const found = await this.#page({ limit: PAGE, before: this.#first });
    if (found.length > 0) this.#first = found[0].seq;
    return found.map(itemOf);
  }

  #seen(messages) {
    if (messages.length === 0) return;
    this.#first ??= messages[0].seq;
    this.#last = Math.max(this.#last, messages.at(-1).seq);
    if (this.#hidden) return;
    this.#api.post(`/v1/chats/${encodeURIComponent(this.#chat.id)}/read`, { seq: this.#last })
      .catch(() => {}); // a lost read mark is sent with the next message
  }

  /** Read what is newer than the newest message here; one reading at a time. */
  async #catchUp() {
    if (this.#catching !== null) {
      this.#again = true;
      return;
    }
    this.#catching = (async () => {
      let found;
      do {
        this.#again = false;
        found = await this.#page({ after: this.#last, limit: PAGE });
        if (!this.#ended) this.#add(found);
      } while (found.length === PAGE || this.#again);
    })();
    try {
      await this.#catching;
    } catch (error) {
      this.state.textContent = error.message;
    } finally {
      this.#catching = null;
    }
  }

  #add(messages) {
    const fresh = messages.filter((message) => message.seq > this.#last);
    if (fresh.length === 0) return;
    this.#seen(fresh);
    for (const message of fresh) {
      const mine = this.#isMine(message);
      if (mine) this.#arrived(message.client_id);
      const agent = this.#agents.get(message.sender.id);
      if (agent) Object.assign(agent, { text: "", n: 0 });
      if (!mine) {
        this.#context.announce(said.announce(senderOf(message.sender.name, message.via), message.text));
      }
    }
    this.#list.append(fresh.map(itemOf));
    this.#showActivity();
    for (const item of this.#pending.values()) { // still on their way: they stay last
      this.#list.remove(item.key);
      this.#list.append([item]);
    }
  }

  #arrived(clientId) {
    const item = this.#pending.get(clientId);
    if (item === undefined) return;
    this.#pending.delete(clientId);
    this.#list.remove(item.key);
  }

  // ------------------------------------------------------------------ frames

  #stateChanged(state) {
    if (this.#ended) return;
    this.#follower?.stateChanged(state);
    this.state.textContent = said.states[state];
    this.state.dataset.state = state;
    if (state === "connected") {
      this.#showing();
      this.#catchUp();
    } else for (const agent of this.#agents.values()) Object.assign(agent, { text: "", n: 0 });
  }

  /** Tell the server whether the person sees this chat: if so, their phones do not ring for it. */
  #showing() { this.#live?.send({ type: "showing", chat_id: this.#hidden ? null : this.#chat.id }); }

  /** Go to the background, as an app does, or come back. */
  hide(hidden) {
    this.#hidden = hidden;
    this.root.hidden = hidden;
    this.#showing();
  }

  #frame(frame) {
    if (this.#ended) return;
    this.#follower?.frame(frame);
    if (frame.chat_id !== this.#chat.id) return;
    const handler = {
      message: () => (frame.message.seq === this.#last + 1 ? this.#add([frame.message]) : this.#gap(frame.message)),
      changed: () => this.#list.update(itemOf(frame.message)),
      run: () => this.#ran(frame),
      delta: () => this.#streamed(frame),
      retract: () => this.#agent(frame.agent, { text: "", n: 0 }),
      resync: () => this.#catchUp(),
    }[frame.type];
    handler?.();
  }

  #gap(message) {
    if (message.seq > this.#last) this.#catchUp();
  }

  #ran({ agent, status, reason }) {
    const done = status === "done" || status === "failed";
    this.#agent(agent, { status: done ? null : status, reason, ...(done ? { text: "", n: 0 } : {}) });
  }

  /** Append words that an agent is writing; after a gap, wait for the message. */
  #streamed({ agent, n, text }) {
    const { text: before = "", n: last = 0 } = this.#agents.get(agent.id) ?? {};
    if (n === 1) this.#agent(agent, { text, n, status: "working" });
    else if (n === last + 1) this.#agent(agent, { text: before + text, n, status: "working" });
  }

  #agent({ id, name }, change) {
    this.#agents.set(id, { status: null, reason: null, text: "", ...this.#agents.get(id), name, ...change });
    this.#showActivity();
  }

  #showActivity() {
    const atEnd = this.#list.atEnd;
    fill(this.activity, [...this.#agents].map(([id, agent]) => this.#activityOf(id, agent)));
    if (atEnd) this.#list.toEnd();
  }

  #activityOf(id, { name, status, reason, text }) {
    if (text) {
      return el("li", { class: "bubble theirs streaming", "aria-busy": "true" },
        el("p", { class: "sender" }, said.writing(name)), el("p", { class: "text" }, text));
    }
    if (reason) {
      return el("li", { class: "reason", "data-reason": reason },
        said.reasons[reason]?.(name) ?? said.reasons.error(name),
        this.#why(this.#last, said.whySilent(name)));
    }
    if (status === "working") return el("li", { class: "working" }, el("span", { class: "dots", "aria-hidden": "true" }), said.working(name));
    if (status === "waiting") return el("li", { class: "working" }, said.waiting(name));
    return null;
  }

  // ------------------------------------------------------------------ showing

  #row({ message }) {
    const mine = this.#isMine(message);
    if (message.kind === "deleted" || message.kind === "erased") {
      return el("li", { class: "notice" }, said.gone[message.kind]);
    }
    const sender = message.sender.name || words.names.unnamed;
    if (message.kind === "choice" && message.choice) {
      return el("li", { class: "bubble theirs choice" },
        el("p", { class: "sender" }, sender),
        el("p", { class: "text" }, message.choice.question),
        choiceView(message.choice, this.#me, (id) => this.#nameOf(id), (answer) => this.#answer(message.seq, answer)),
        el("p", { class: "meta" }, el("time", { datetime: message.created_at }, timeOf(message.created_at))));
    }
    if (!isWords(message) && !mine) {
      return el("li", { class: "notice" }, el("p", { class: "text" }, message.text));
    }
    return el("li", { class: `bubble ${mine ? "mine" : "theirs"}` },
      mine && !message.via ? null : el("p", { class: "sender" }, named(senderOf(mine ? said.you : sender, message.via), message)),
      message.text === "" ? null : el("p", { class: "text" }, message.text),
      mediaView(message.media, (file) => this.#file(file)), citations(message),
      el("p", { class: "meta" },
        message.state ?? el("time", { datetime: message.created_at }, timeOf(message.created_at)),
        message.again ? button(said.again, message.again, { class: "link" }) : null,
        this.#whyOf(message)));
  }

  #file(file) {
    const path = `/v1/chats/${encodeURIComponent(this.#chat.id)}/media/${encodeURIComponent(file.id)}`;
    return fileAt(this.#api, path, file);
  }

  #isMine({ sender }) { return sender.kind === "user" && sender.id === this.#me; }

  #nameOf(id) { return this.#chat.members.find((member) => member.id === id)?.name || words.names.unnamed; }

  /** Answer a question, and show what has become of it. */
  async #answer(seq, answer) {
    try {
      const message = await postAnswer(this.#api, this.#chat.id, seq, answer);
      if (message.seq === this.#last + 1) this.#add([message]);
      else await this.#catchUp();
    } finally {
      const [asked] = await this.#page({ after: seq - 1, limit: 1 }).catch(() => []); // the next frame shows it
      if (asked && !this.#ended && asked.choice?.status !== "open") this.#list.update(itemOf(asked));
    }
    this.text.focus();
  }

  /** A link that explains an answer, or what followed a person's message; a silence, too. */
  #whyOf({ kind, seq, sender }) {
    if (!isWords({ kind }) || seq === undefined) return null; // a notice, or on its way
    return this.#why(seq, sender.kind === "agent" ? said.whyOf(sender.name) : said.whyMessage(seq));
  }

  /** A link to the page that explains a message, if that page exists for this person. */
  #why(seq, label) {
    const { config, pages, session } = this.#context;
    const may = session.may("support") || (config.local && session.token === null); // who then signs in
    if (!pages.includes("why") || !may) return null;
    return el("a", { href: `#/why/${encodeURIComponent(this.#chat.id)}/${seq}`, "aria-label": label }, said.why);
  }

  // ------------------------------------------------------------------ writing

  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.form.requestSubmit();
    }
  }

  #typing() {
    if (Date.now() - this.#typed < TYPING_MS) return;
    this.#typed = Date.now();
    this.#live?.send({ type: "typing", chat_id: this.#chat.id });
  }

  #submit(event) {
    event.preventDefault();
    const text = this.text.value.trim();
    if (text === "" && this.attachments.empty) return;
    this.text.value = "";
    for (const agent of this.#agents.values()) agent.reason = null;
    this.#showActivity();
    this.#send(text, crypto.randomUUID(), this.attachments.take());
  }

  async #send(text, clientId, files) {
    const item = { key: clientId, message: this.#own(text, said.sending) };
    this.#pending.set(clientId, item);
    this.#list.remove(clientId);
    this.#list.append([item]);
    this.#list.toEnd();
    try {
      const path = `/v1/chats/${encodeURIComponent(this.#chat.id)}/messages`;
      const media = [];
      for (const file of files) media.push(await upload(this.#api, this.#chat.id, file));
      const given = text === "" ? { media } : media.length === 0 ? { text } : { text, media };
      const message = await this.#api.post(path, { ...given, client_id: clientId });
      if (message.seq === this.#last + 1) this.#add([message]);
      else await this.#catchUp();
    } catch (error) {
      if (!this.#pending.has(clientId)) return;
      item.message = this.#own(text, said.failed(error.message), () => this.#send(text, clientId, files));
      this.#list.update(item);
      this.#context.announce(item.message.state);
    }
  }

  #own(text, state, again = null) {
    return { kind: "text", text, sender: { kind: "user", id: this.#me, name: said.you }, state, again };
  }
}

function itemOf(message) { return { key: `${message.seq}`, message }; }

export function timeOf(text) {
  const at = new Date(text);
  return (Date.now() - at > 12 * 3_600_000 ? day : clock).format(at);
}
