// What others may be told of what a person tells agents alone, and how the person keeps it from them.
import { withQuery } from "./api.js";
import { el, field, fill, select } from "./dom.js";
import { action, form, lazy, outcome, part, when } from "./parts.js";
import { words } from "./words.js";

const PATH = "/v1/me/sharing", NEWEST = 100, EXCERPT = 60;
const said = words.ownSharing;

/** A bar above a chat whose words others may be told, with a button that keeps the talk from them. */
export class KeepBar {
  #api;
  #chatId;
  #reads = 0;

  /**
   * @param {Api} api The API of the person.
   * @param {string} chatId The chat.
   */
  constructor(api, chatId) {
    this.#api = api;
    this.#chatId = chatId;
    this.root = el("div", { class: "row start keep", role: "group", "aria-label": said.bar, hidden: true });
  }

  /** Show whether the newest talk may be told; hidden where no sharing rule covers it. */
  async refresh() {
    const read = this.#reads += 1;
    const { talks } = await this.#api.get(PATH).catch(() => ({ talks: null })); // the next message reads again
    if (talks === null || read !== this.#reads) return;
    const talk = talks.find((each) => each.chat_id === this.#chatId);
    this.root.hidden = talk === undefined;
    if (talk !== undefined) this.#show(talk);
  }

  #show({ private: kept }) {
    const place = outcome();
    const keep = async () => { this.#show(await this.#api.post(`/v1/chats/${part(this.#chatId)}/sharing/keep`)); };
    fill(this.root, el("p", { role: "status" }, kept ? said.kept : said.covered), kept ? null : action(said.keep, keep, place), place);
  }

  /** Take a frame of the live channel: a notice of a rule, or words that may begin a new talk. */
  frame({ type, message }) {
    const begins = message?.kind === "notice" || message?.sender.kind === "user";
    if (type === "message" && message.chat_id === this.#chatId && begins) this.refresh();
  }

  /** After a lost connection, read what was missed. */
  stateChanged(state) { if (state === "connected") this.refresh(); }
}

/**
 * Who may be told what the person says, what was told, and what the person is told, read when the person opens the part.
 *
 * @param {Api} api The API of the person.
 */
export function ownSharing(api) {
  const place = el("div", { class: "stack" });

  async function refresh() {
    const [own, chats] = await Promise.all([api.get(PATH), api.get("/v1/chats?limit=100")]);
    const names = new Map(chats.items.map((chat) => [chat.id, nameOf(chat)]));
    fill(place, rulesOf(own), tellingOf(api, own, refresh), talksOf(api, own, names), toldOf(own, names));
  }
  return lazy(said.name, async () => {
    await refresh();
    return place;
  });
}

/** What the person calls a direct chat: by its agent. */
function nameOf({ title, members }) {
  return title || members.filter((member) => member.kind === "agent").map((member) => member.name).join(", ") || words.names.unnamed;
}

/** The rules that cover the person's words, in plain words. */
function rulesOf({ rules, sentences }) {
  if (rules.length === 0) return el("p", { class: "empty" }, said.nobody);
  return el("section", {}, el("h2", {}, said.mayBe), el("ul", { class: "items" }, rules.map((rule, at) => el("li", {},
    el("p", { class: "text" }, sentences[at]), timesOf(rule)))));
}

function timesOf({ since, ends_at: ends }) {
  return el("p", { class: "hint" }, said.since, " ", when(since), ends === null ? null : [", ", said.until, " ", when(ends)]);
}

/** The rules by which the person may be told what others say, with a switch that turns all of them off. */
function tellingOf(api, { told_by: rules, receives }, refresh) {
  if (rules.length === 0 && receives) return null;
  const place = outcome();
  const turn = action(receives ? said.refuse : said.receive, async () => {
    await api.patch(PATH, { receives: !receives });
    await refresh();
  }, place);
  return el("section", {}, el("h2", {}, said.toldBy), receives ? null : el("p", {}, said.refused),
    el("ul", { class: "items" }, rules.map((rule) => el("li", {}, el("p", { class: "text" }, said.tells(rule.shared_by, rule.reason)), timesOf(rule)))), turn, place);
}

/** The chats whose words may be told, with a form that keeps earlier words from others. */
function talksOf(api, { talks }, names) {
  if (talks.length === 0) return null;
  return el("section", {}, el("h2", {}, said.chats), el("ul", { class: "items" }, talks.map(({ chat_id: id }) =>
    el("li", {}, el("p", {}, names.get(id) ?? said.otherChat), lazy(said.withdraw, () => withdrawal(api, id))))));
}

/** A form that keeps messages of a chat from others, from one of the person's messages to another. */
async function withdrawal(api, chatId) {
  const { items } = await api.get(withQuery(`/v1/chats/${part(chatId)}/messages`, { limit: NEWEST }));
  const own = items.filter((message) => message.sender.kind === "user" && message.kind === "text");
  if (own.length === 0) return el("p", { class: "empty" }, said.noWords);
  const options = own.map(({ seq, text }) => [String(seq), text.length > EXCERPT ? `${text.slice(0, EXCERPT)}...` : text]);
  const first = select(options, options[0][0], () => {}), last = select(options, options.at(-1)[0], () => {});
  return form([field(said.firstMessage, first), field(said.lastMessage, last, said.aboutWithdrawal)], said.withdrawNow, async () => {
    await api.post(`/v1/chats/${part(chatId)}/sharing/withdraw`, { from_seq: Number(first.value), to_seq: Number(last.value) });
    return said.withdrawn;
  });
}

/** Words that others were told. */
function toldOf({ disclosures }, names) {
  return el("section", {}, el("h2", {}, said.told), disclosures.length === 0 ? el("p", { class: "empty" }, said.nothingTold)
    : el("ul", { class: "items" }, disclosures.map((each) => el("li", {},
      el("p", {}, said.toldTo(each.shared_with.join(", ") || words.names.gone, each.seqs.join(", "), names.get(each.chat_id) ?? said.otherChat), " ", when(each.at))))));
}
