// A chat that the operator holds: its messages, a box to answer in, drafts of the agent, and the return.
import { withQuery } from "./api.js";
import { Canned } from "./desk/canned.js";
import { deskPath } from "./desk_actions.js";
import { el, field, fill } from "./dom.js";
import { isWords, operatorRow, senderOf } from "./messages.js";
import { action, card, form, outcome } from "./parts.js";
import { WindowList } from "./window_list.js";
import { words } from "./words.js";

const PAGE = 100, LOOK_MS = 4_000, CONFLICT = 409;
const LONGEST_TEXT = 32_000, LONGEST_BRIEFING = 4_000;
const said = words.desk;

export class HeldChat {
  #context;
  #chat;
  #ended; // called when the operator no longer holds the chat, with what to say
  #list;
  #names = new Map(); // of senders, by id
  #first = 1;
  #last = 0;
  #timer = null;
  #looking = null;
  #stopped = false;
  #sent = { text: null, id: null }; // the message on its way: a repeated try has the same id

  /**
   * @param {object} context As pages get it.
   * @param {string} chatId The chat, which the operator holds.
   * @param {string[]} people The names of the people in it.
   * @param {(told: string) => void} ended Called when the operator no longer holds the chat.
   */
  constructor(context, chatId, people, ended) {
    this.#context = context;
    this.#chat = chatId;
    this.#ended = ended;
    this.#list = new WindowList(words.conversation.messages, ({ message }) => this.#row(message), () => this.#older());
    this.text = el("textarea", {
      rows: 3, maxlength: LONGEST_TEXT, required: true, placeholder: said.placeholder, "aria-label": said.compose,
      on: { keydown: (event) => this.#key(event) },
    });
    this.canned = new Canned(this.text, people);
    this.briefing = el("textarea", { rows: 3, maxlength: LONGEST_BRIEFING });
    const place = outcome(), quote = el("blockquote", { hidden: true });
    this.summary = el("div", { class: "stack" }, el("div", {}, action(said.summarize, async () => {
      fill(quote, await this.#askDraft("summary"));
      quote.hidden = false;
      return said.summarized;
    }, place)), place, quote);
    this.form = this.#draftForm(this.text, "answer", said.draft, [this.text, this.canned.list, this.canned.all], words.conversation.send, () => this.#send());
    this.returning = this.#draftForm(this.briefing, "briefing", said.draftBriefing, [field(said.briefing, this.briefing)], said.handBack, () => this.#handBack());
    this.root = el("div", { class: "stack" },
      el("div", { class: "conversation" }, this.#list.root, this.form),
      card(said.return, el("p", { class: "hint" }, said.returnHint), this.returning));
  }

  /** A form with a box that a draft of the agent can fill. */
  #draftForm(box, kind, label, fields, send, run) {
    const place = outcome();
    return form([fields, action(label, () => this.#fillDraft(kind, box), place), place], send, run, { class: "drafted" });
  }

  /** Read the newest messages and follow the chat; the root must be in the page. */
  async start() {
    const [items] = await Promise.all([this.#page({ limit: PAGE }), this.canned.start(this.#context.api)]);
    this.#first = items[0]?.seq ?? 1;
    this.#know(items);
    this.#list.reset(items.map(itemOf));
    this.#last = items.at(-1)?.seq ?? 0;
    if (!this.#stopped) this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  stop() {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  // ------------------------------------------------------------------ reading

  async #page(query) { return (await this.#context.api.get(withQuery(deskPath(this.#chat, "/messages"), query))).items; }

  async #older() {
    if (this.#first <= 1) return [];
    const items = await this.#page({ limit: PAGE, before: this.#first });
    this.#first = items[0]?.seq ?? 1;
    this.#know(items);
    return items.map(itemOf);
  }

  /** Read what is new, while the person can see the page; each reading is audited. */
  async #look() {
    if (document.hidden) return;
    try {
      await this.#catchUp();
    } catch (error) {
      this.#failed(error); // others are tried again
    }
  }

  /** Read what is newer than the newest message here; one reading at a time. */
  async #catchUp() {
    await this.#looking?.catch(() => {}); // its own caller is told
    this.#looking = this.#page({ after: this.#last, limit: PAGE }).then((items) => this.#add(items));
    await this.#looking;
  }

  #add(messages) {
    const fresh = messages.filter((message) => message.seq > this.#last);
    if (fresh.length === 0 || this.#stopped) return;
    this.#know(fresh);
    this.#last = fresh.at(-1).seq;
    this.#list.append(fresh.map(itemOf));
    for (const { sender, via, text } of fresh.filter((message) => message.sender.kind !== "team")) {
      this.#context.announce(words.conversation.announce(senderOf(sender.name || words.names.unnamed, via), text));
    }
  }

  #know(messages) { for (const { sender } of messages) this.#names.set(sender.id, sender.name); }

  #row(message) {
    const why = isWords(message) ? words.conversation.whyMessage(message.seq) : null;
    return operatorRow(message, (id) => this.#names.get(id) || words.names.unnamed, { why });
  }

  // ------------------------------------------------------------------ writing

  #key(event) {
    if (this.canned.key(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.form.requestSubmit();
    }
  }

  async #send() {
    const text = this.text.value.trim();
    if (text === "") return;
    if (this.#sent.text !== text) this.#sent = { text, id: crypto.randomUUID() };
    await this.#held(() => this.#context.api.post(deskPath(this.#chat, "/messages"), { text, client_id: this.#sent.id }));
    this.#sent = { text: null, id: null };
    if (this.text.value.trim() === text) this.text.value = "";
    await this.#catchUp();
    this.#list.toEnd();
    this.text.focus();
  }

  /** Return a draft of the agent, which is shown only the current session of this chat. */
  async #askDraft(kind) { return (await this.#held(() => this.#context.api.post(deskPath(this.#chat, "/drafts"), { kind }))).text; }

  /** Put a draft below what the person has written. */
  async #fillDraft(kind, box) {
    const text = await this.#askDraft(kind);
    box.value = [box.value.trim(), text].filter(Boolean).join("\n\n");
    box.focus();
    return said.drafted;
  }

  /** Hand the chat back, unless the box has words that were not sent. */
  handBack() {
    if (this.text.value.trim() === "") {
      this.returning.requestSubmit();
      return;
    }
    this.text.focus();
    this.#context.announce(said.sendFirst);
  }

  async #handBack() {
    await this.#held(() => this.#context.api.call("DELETE", deskPath(this.#chat), { briefing: this.briefing.value.trim() }));
    this.#end(said.handedBack);
  }

  /** Do something that only the holder may; say so if that is somebody else now. */
  async #held(run) {
    try {
      return await run();
    } catch (error) {
      if (error.status === CONFLICT) await this.#look(); // which ends the page if the chat is not held
      throw error;
    }
  }

  #failed(error) { if (error.status === CONFLICT) this.#end(said.noLonger); }

  #end(told) {
    if (this.#stopped) return;
    this.stop();
    this.#ended(told);
  }
}

function itemOf(message) { return { key: `${message.seq}`, message }; }
