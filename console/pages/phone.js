// A phone of the local stack: SMS and WhatsApp with any line as any number, and chats as any local person.
import { ApiError } from "../api.js";
import { AppPhone } from "../app_phone.js";
import { timeOf } from "../conversation.js";
import { el, field, fill, select } from "../dom.js";
import { localCall, operatorApi, phoneSms } from "../local.js";
import { Attachments, blobAt, inBase64, mediaView } from "../media.js";
import { noAgent } from "../parts.js";
import { segmentsOf } from "../sms.js";
import { WindowList } from "../window_list.js";
import { words } from "../words.js";

const NUMBER = "+15005550100", PERSON = { id: "ann", name: "Ann" };
const E164 = /^\+[1-9][0-9]{6,14}$/;
const PAUSE_MS = 2_000;
const PENDING = new Set(["sending", "refused", "failed"]); // of which no message is known
const PREFIX = { sms: "", whatsapp: "whatsapp:" }; // of addresses, by channel
const WINDOW_MS = 24 * 3_600_000; // in which WhatsApp takes any text
const said = words.pages.phone;

/** The page; `#/phone/sms/+15005550016` opens the texts with that line. */
async function show(main, [kind = "sms", phone = null], context) {
  const body = el("div", {});
  const tab = (name) => el("a", { href: `#/phone/${name}`, "aria-current": name === kind ? "true" : null }, said.tabs[name]);
  fill(main,
    el("h1", {}, said.name),
    el("nav", { class: "tabs", "aria-label": said.kinds }, tab("sms"), tab("whatsapp"), tab("app")),
    el("p", { class: "about" }, said.abouts[kind]),
    body);
  const operator = await operatorApi();
  return kind === "app" ? showApp(body, operator, context) : showTexts(body, operator, context, kind, phone);
}

// ---------------------------------------------------------------------- SMS and WhatsApp

async function showTexts(body, operator, context, channel, wanted) {
  const [all, agents] = await Promise.all([operator.items("/v1/lines", 200), operator.items("/v1/agents", 200)]);
  const lines = all.filter((each) => each.channels.includes(channel));
  if (lines.length === 0) {
    fill(body, el("p", { class: "empty" }, said.noLines[channel]));
    return null;
  }
  const names = new Map(agents.map((agent) => [agent.id, agent.name]));
  const chosen = (lines.find((each) => each.phone === wanted) ?? lines[0]).phone;
  const phone = new TextPhone(context, channel, NUMBER, chosen);
  const number = el("input", { type: "tel", value: NUMBER, autocomplete: "off", required: true,
    on: { change: () => phone.become(number.value.trim(), line.value) } });
  const line = select(lines.map((each) => [each.phone, said.lineOf(each.phone, names.get(each.agent_id) ?? each.agent_id)]),
    chosen, () => phone.become(number.value.trim(), line.value));
  fill(body,
    el("div", { class: "phone" },
      el("div", { class: "row" }, field(said.number, number), field(said.line, line)),
      phone.root));
  phone.start();
  return () => phone.stop();
}

class TextPhone {
  #context;
  #channel;
  #number;
  #line;
  #list;
  #abort = new AbortController();
  #ended = false;
  #known = new Map(); // SMS by id
  #pending = [];
  #shown = false;
  #sending = Promise.resolve();

  constructor(context, channel, number, line) {
    this.#context = context;
    this.#channel = channel;
    this.#number = number;
    this.#line = line;
    this.#list = new WindowList(said.messages, (item) => bubble(item, channel, (button) => this.#tap(button)));
    this.status = el("p", { class: "state", role: "status" }, said.empty);
    this.count = el("p", { class: "hint", id: "segments" });
    this.text = el("textarea", {
      rows: 2, placeholder: said.placeholder, "aria-label": said.composes[channel], "aria-describedby": "segments",
      on: { input: () => this.#counted(), keydown: (event) => this.#key(event) },
    });
    this.attachments = new Attachments();
    this.form = el("form", { class: "composer", on: { submit: (event) => this.#submit(event) } },
      this.attachments.input, this.attachments.button, this.text, el("button", { class: "primary" }, said.send));
    this.root = el("div", { class: "conversation" }, this.#list.root, this.status, this.attachments.list, this.form, this.count);
  }

  /** Follow the SMS of the number until the page ends. */
  async start() {
    this.text.focus();
    while (!this.#ended) {
      const abort = this.#abort = new AbortController();
      let version = null;
      try {
        while (!abort.signal.aborted) {
          const { items, version: next, no_answer: silence } = await phoneSms(this.#address(this.#number), this.#address(this.#line), version, abort.signal);
          if (version === null) this.#list.reset([]);
          version = next;
          this.#take(items, silence);
        }
      } catch (error) {
        if (abort.signal.aborted) continue;
        this.status.textContent = error.status === 400 ? error.message : said.lost;
        await new Promise((next) => setTimeout(next, PAUSE_MS));
      }
    }
  }

  stop() {
    this.#ended = true;
    this.#abort.abort();
  }

  #address(number) { return `${PREFIX[this.#channel]}${number}`; }

  /** Be another number, or write to another line. */
  become(number, line) {
    if (!E164.test(number)) {
      this.status.textContent = said.invalidNumber;
      return;
    }
    this.#number = number;
    this.#line = line;
    this.#known.clear();
    this.#pending = [];
    this.#shown = false;
    this.#abort.abort();
  }

  #take(items, silence) {
    const fresh = [];
    for (const sms of items) {
      const before = this.#known.get(sms.sid);
      this.#known.set(sms.sid, sms);
      const item = { key: sms.sid, sms };
      if (before === undefined) fresh.push(item);
      else if (before.status !== sms.status || before.media.length !== sms.media.length) this.#list.update(item);
    }
    const arrived = new Set(items.map((sms) => sms.sid));
    for (const item of this.#pending.filter((each) => arrived.has(each.sms.sid))) this.#list.remove(item.key);
    this.#pending = this.#pending.filter((each) => !arrived.has(each.sms.sid));
    const got = fresh.filter(({ sms }) => sms.direction === "outbound");
    if (this.#shown) for (const { sms } of got) this.#context.announce(sms.body);
    this.#shown = true;
    this.#list.append(fresh);
    if (fresh.length > 0) this.#list.toEnd();
    const newest = items.at(-1);
    const waits = newest?.direction === "inbound" && newest.status === "received" && silence === null;
    this.status.textContent = newest === undefined ? said.empty
      : silence !== null ? said.noAnswers[silence.reason] ?? said.noAnswer(silence.meaning)
      : waits ? said.waiting : "";
    this.status.classList.toggle("dots", waits);
    this.#counted();
  }

  #counted() {
    if (this.#channel === "whatsapp") {
      const heard = [...this.#known.values()].filter((sms) => sms.direction === "inbound").at(-1);
      this.count.textContent = heard === undefined ? "" : said.window(timeOf(new Date(Date.parse(heard.created_at) + WINDOW_MS).toISOString()));
      return;
    }
    const { segments, left } = segmentsOf(this.text.value);
    this.count.textContent = this.text.value === "" ? "" : said.segments(segments, left);
  }

  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.form.requestSubmit();
    }
  }

  #submit(event) {
    event.preventDefault();
    const text = this.text.value.trim();
    if (text === "" && this.attachments.empty) return;
    this.text.value = "";
    this.#counted();
    this.#write(text, undefined, this.attachments.take());
  }

  /** Answer with a quick reply. */
  #tap({ title, id }) { this.#write(title, id); }

  #write(text, button, files = []) {
    const sid = `SM${crypto.randomUUID().replaceAll("-", "")}`;
    const { segments } = segmentsOf(text);
    const sms = { sid, body: text, direction: "inbound", status: "sending", segments, created_at: new Date().toISOString() };
    const item = { key: `pending ${sid}`, sms, files };
    this.#pending.push(item);
    this.#list.append([item]);
    this.#list.toEnd();
    const to = { from: this.#address(this.#number), to: this.#address(this.#line), button };
    // One after the other: otherwise a START could arrive after the message that follows it.
    this.#sending = this.#sending.then(() => this.#post(item, to));
  }

  async #post({ key, sms, files }, to) {
    try {
      const media = await Promise.all(files.map(inBase64));
      const { status } = await localCall("POST", "sms", { ...to, body: sms.body, media, message_sid: sms.sid });
      if (status >= 400) throw new ApiError(status, "", said.refused(status));
    } catch (error) {
      this.status.textContent = error.message;
      this.#list.update({ key, sms: { ...sms, status: "failed" } });
    }
  }
}

function bubble({ sms }, channel, tap) {
  const state = said.states[sms.status] ?? sms.status;
  const mine = sms.direction === "inbound";
  return el("li", { class: `bubble ${mine ? "mine" : "theirs"}`, "data-status": sms.status },
    sms.body === "" ? null : el("p", { class: "text" }, sms.body),
    mediaView(sms.media, ({ url, type }) => blobAt(url, type)),
    sms.buttons?.length > 0 ? el("p", { class: "row" },
      ...sms.buttons.map((button) => el("button", { type: "button", on: { click: () => tap(button) } }, button.title))) : null,
    el("p", { class: "meta" },
      el("time", { datetime: sms.created_at }, timeOf(sms.created_at)), " ",
      channel === "sms" ? said.state(state, sms.segments) : state, " ",
      PENDING.has(sms.status) ? null
        : el("a", { href: `#/why/sms/${encodeURIComponent(sms.sid)}`, "aria-label": mine ? said.whatFollowed : said.whyThis }, said.why)));
}

// ---------------------------------------------------------------------- the app

async function showApp(body, operator, context) {
  const [agents, users] = await Promise.all([operator.items("/v1/agents", 200), operator.items("/v1/users", 200)]);
  if (agents.length === 0) {
    fill(body, noAgent());
    return null;
  }
  const people = new Map([[PERSON.id, PERSON], ...users.map((user) => [user.id, user])]);
  const phones = [], place = el("div", { class: "phones" });
  const second = el("button", { type: "button", on: { click: () => add([...people.keys()].find((id) => id !== PERSON.id)) } }, said.second);
  const close = el("button", { type: "button", hidden: true, on: { click: remove } }, said.closeSecond);

  async function add(personId) {
    const phone = new AppPhone(context, agents, people, personId ?? PERSON.id, phones.length + 1);
    phones.push(phone);
    place.append(phone.root);
    shown();
    await phone.open();
  }
  function remove() {
    const phone = phones.pop();
    phone.stop();
    phone.root.remove();
    shown();
    second.focus();
  }
  function shown() {
    second.hidden = phones.length > 1;
    close.hidden = phones.length < 2;
  }
  fill(body, el("div", { class: "stack" }, el("div", { class: "row start" }, second, close), place));
  await add(PERSON.id);
  return () => phones.forEach((phone) => phone.stop());
}

export default { name: "phone", needs: "local", show };
