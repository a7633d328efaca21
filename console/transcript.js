// The messages of a chat for operators, who read them for a reason that is audited.
import { withQuery } from "./api.js";
import { el, fill } from "./dom.js";
import { fileAt } from "./media.js";
import { isWords, operatorRow } from "./messages.js";
import { action, number, outcome, part } from "./parts.js";
import { WindowList } from "./window_list.js";
import { words } from "./words.js";

const MESSAGES = 100;
const said = words.pages.transcripts;

export class Transcript {
  #api;
  #path;
  #reason;
  #names = new Map(); // of members, by id
  #messages = []; // all that were read, oldest first
  #list;

  constructor(api, chatId, reason) {
    this.#api = api;
    this.#path = `/v1/transcripts/${part(chatId)}`;
    this.#reason = reason;
    this.#list = new WindowList(words.conversation.messages, (item) => this.#row(item), () => this.#older());
  }

  /** Read the newest messages, and show them in a place below what `head` makes of the chat. */
  async start(place, head) {
    const page = await this.#page({});
    this.#messages = page.items;
    this.#names = new Map(page.members.map((member) => [member.id, member.name]));
    const failure = outcome();
    fill(place, head(page), el("p", { class: "hint" }, said.audited(this.#reason)),
      el("div", { class: "conversation" }, this.#list.root,
        el("div", {}, action(said.newer, () => this.#newer(), failure), failure)));
    this.#list.reset(this.#items(page.items));
  }

  #page(query) {
    return this.#api.get(withQuery(this.#path, { reason: this.#reason, limit: MESSAGES, ...query }));
  }

  async #older() {
    const before = this.#messages[0]?.seq ?? 1;
    if (before <= 1) return [];
    const { items } = await this.#page({ before });
    this.#messages.unshift(...items);
    return this.#items(items);
  }

  async #newer() {
    const last = this.#messages.at(-1);
    const { items } = await this.#page({ after: last?.seq ?? 0 });
    this.#messages.push(...items);
    if (last) this.#list.update(...this.#items([last]));
    this.#list.append(this.#items(items));
    return said.got(number(items.length));
  }

  /** The items of messages; `silent` if neither an agent nor the team wrote next after a person. */
  #items(messages) {
    const next = new Map(this.#messages.map((message, at) => [message.seq, this.#messages[at + 1]]));
    const isBy = (message, ...kinds) => isWords(message) && kinds.includes(message.sender.kind);
    return messages.map((message) => {
      const after = next.get(message.seq);
      return { key: `${message.seq}`, message, silent: isBy(message, "user") && !(after && isBy(after, "agent", "team")) };
    });
  }

  #row({ message, silent }) {
    const load = (file) => fileAt(this.#api, withQuery(`${this.#path}/media/${part(file.id)}`, { reason: this.#reason }), file);
    return operatorRow(message, (id) => this.#names.get(id) || words.names.unnamed,
      silent ? { load, mark: said.silent, why: said.whySilent(message.seq) } : { load });
  }
}
