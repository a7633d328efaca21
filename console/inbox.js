// What a person is asked in all chats, with buttons to answer, and the posts to which they agreed.
import { answerInvitation, choiceView, postAnswer } from "./choices.js";
import { el, fill } from "./dom.js";
import { lazy, paged, when } from "./parts.js";
import { words } from "./words.js";

const REFRESH_MS = 30_000, YES = "yes";
const said = words.inbox;

/** The person's open questions and invitations; it follows the live channel. */
export class Inbox {
  #context;
  #api;
  #me;
  #accepted;
  #except;
  #shown = null; // the questions that are shown, as JSON
  #reads = 0;
  #timer = null;

  /**
   * @param {object} context As pages get it.
   * @param {Api} api The API of the person.
   * @param {string} me The id of the person.
   * @param {(chatId: string) => void} accepted Called with the group whose invitation was accepted.
   * @param {string|null} except The id of a chat whose questions are shown elsewhere.
   */
  constructor(context, api, me, accepted, except = null) {
    this.#context = context;
    this.#api = api;
    this.#me = me;
    this.#accepted = accepted;
    this.#except = except;
    this.root = el("section", { class: "inbox", hidden: true, "aria-label": said.name });
  }

  /** Read the questions now and again: they expire, and a frame may be lost. */
  async start() {
    this.#timer = setInterval(() => this.refresh(), REFRESH_MS);
    await this.refresh();
  }

  stop() { clearInterval(this.#timer); }

  /** Read the questions; show them anew only if they have changed, so that no words get lost. */
  async refresh() {
    const read = this.#reads += 1;
    const { items } = await this.#api.get("/v1/me/choices").catch(() => ({ items: null })); // the next frame reads again
    if (items === null || read !== this.#reads) return;
    const open = items.filter((each) => each.chat_id !== this.#except);
    const shown = JSON.stringify(open);
    if (shown === this.#shown) return;
    const [before, newest] = [this.#shown, open.at(-1)];
    this.#shown = shown;
    this.root.hidden = open.length === 0;
    fill(this.root, el("h2", {}, said.name), el("ul", { class: "items" }, open.map((each) => this.#item(each))));
    if (before !== null && newest && !before.includes(newest.question)) this.#context.announce(newest.question);
  }

  /** Take a frame of the live channel. */
  frame(frame) {
    const asks = (frame.type === "message" || frame.type === "changed") && frame.message.choice;
    if (asks || ["chat", "invitation", "resync"].includes(frame.type)) this.refresh();
  }

  /** After a lost connection, read what was missed. */
  stateChanged(state) { if (state === "connected") this.refresh(); }

  #item(asked) {
    const choice = { ...asked, status: "open", answer: null, addressee: this.#me };
    const { invitation } = asked;
    return el("li", {},
      el("p", { class: "hint" }, invitation ? said.members(invitation.members.map((member) => member.name).join(", ")) : said.from(asked.chat_title)),
      el("p", { class: "question" }, asked.question),
      choiceView(choice, this.#me, () => "", async (answer) => {
        try {
          if (invitation) await answerInvitation(this.#api, asked.chat_id, answer.option === YES);
          else await postAnswer(this.#api, asked.chat_id, asked.seq, answer);
        } finally {
          await this.refresh();
        }
        if (invitation && answer.option === YES) await this.#accepted(asked.chat_id);
      }));
  }
}

/** The posts of agents' words to which a person agreed, read when the person opens the part. */
export function consents(api) {
  return lazy(said.consents, () => paged(api, "/v1/me/consents", (consent) => el("div", { class: "stack" },
    el("p", { class: "question" }, consent.text || said.deleted),
    el("p", { class: "hint" }, said.proposedBy(consent.agent_name), " ", when(consent.created_at)),
    el("ul", {}, consent.posts.map((post) => el("li", {},
      said.postIn(post.title, said.posts[post.status]), " ", said.failures[post.failure] ?? null)))), said.noConsents));
}

/** Operators' looks at a person's private content, read when the person opens the part. */
export function accesses(api) {
  return lazy(said.accesses, () => paged(api, "/v1/me/access", (access) => el("div", { class: "stack" },
    el("p", {}, said.access(access.who, access.verb, access.kind), " ", when(access.at)),
    el("p", { class: "question" }, access.reason)), said.noAccesses));
}
