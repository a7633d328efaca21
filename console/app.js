// Starts the console, and shows the page that the address names.
import { Api } from "./api.js";
import { el, fill } from "./dom.js";
import { Frame, panel, problem, signInPanel } from "./frame.js";
import { menu, pages } from "./pages.js";
import { hasUnsaved } from "./parts.js";
import { Session } from "./session.js";
import { Tour } from "./tour.js";
import { NOTHING_WAITS, waitingWork } from "./waiting.js";
import { words } from "./words.js";

const COUNT_MS = 30_000;
const FIRST = { tour: "tour", local: "phone", admin: "home", chat: "chats" };

class App {
  #end = null;
  #turn = 0;
  #failure = null;
  #stays = false; // the address goes back to the page that is shown

  constructor(config) {
    this.config = config;
    this.session = new Session(config, () => this.#sessionChanged(), () => this.frame.warn(words.session.ending));
    this.api = new Api(() => this.session.token, () => this.session.end({ expired: true }));
    this.tour = new Tour(this.session);
    const shown = menu.map(([group, listed]) => [group, listed.filter((page) => page.needs !== "local" || config.local)]);
    this.frame = new Frame(shown, (page) => this.#open(page),
      () => this.#signIn(), () => this.session.end());
    addEventListener("hashchange", ({ oldURL }) => this.#go(oldURL));
    addEventListener("beforeunload", (event) => { if (hasUnsaved()) event.preventDefault(); });
  }

  async start() {
    if (this.config.local) await this.tour.load().catch(console.error);
    try {
      await this.session.finish();
    } catch (error) {
      this.#failure = error.message;
    }
    this.frame.showSession(this.session);
    this.#count();
    await this.show({ focus: false });
    setInterval(() => { if (!document.hidden) this.#count(); }, COUNT_MS);
  }

  /** Show beside the link of the desk how many chats and calls wait for the team. */
  async #count() {
    const may = this.session.token !== null && this.session.may("support");
    const found = may ? await waitingWork(this.api).catch(() => null) : NOTHING_WAITS; // the next count tries again
    if (found !== null) this.frame.showWaiting("desk", found.chats.length + found.approvals.length);
  }

  /** Show the page of the new address, unless the person wants to save something first. */
  #go(oldURL) {
    if (this.#stays) {
      this.#stays = false;
      return;
    }
    if (hasUnsaved() && !confirm(words.unsaved)) {
      this.#stays = true;
      location.replace(oldURL);
      return;
    }
    this.show({ focus: true });
  }

  /** Show the page of the address. */
  async show({ focus }) {
    const turn = this.#turn += 1;
    const [name, ...args] = this.#place();
    const page = pages.find((each) => each.name === name);
    this.#end?.();
    this.#end = null;
    this.frame.showPage(name);
    const main = el("div", { class: `page page-${page ? name : "none"}`, "aria-busy": "true" },
      el("p", { class: "loading" }, words.loading));
    fill(this.frame.main, this.tour.bar([name]), main);
    const refusal = this.#refusal(page);
    if (refusal !== null) {
      fill(main, refusal);
    } else {
      try {
        const end = await page.show(main, args, this.#context(turn));
        if (turn === this.#turn) this.#end = end ?? null;
        else end?.();
      } catch (error) {
        if (turn !== this.#turn || (error.status === 401 && this.session.token === null)) return;
        console.error(error);
        fill(main, problem(error, () => this.show({ focus: true })));
      }
    }
    if (turn !== this.#turn) return;
    main.removeAttribute("aria-busy");
    if (focus) this.frame.focusHeading();
  }

  /** The parts of the address: the name of the page and its arguments. */
  #place() {
    const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodePart);
    if (parts.length > 0) return parts;
    if (this.config.local) return [this.tour.state === "off" ? FIRST.local : FIRST.tour];
    return [this.session.token === null || this.session.may("support") ? FIRST.admin : FIRST.chat];
  }

  #context(turn) {
    return {
      api: this.api,
      config: this.config,
      session: this.session,
      tour: this.tour,
      count: () => this.#count(),
      pages: pages.map((page) => page.name),
      announce: (text) => turn === this.#turn && this.frame.announce(text),
    };
  }

  /** Whether the menu has a link to a page. */
  #open(page) {
    if (page.name === FIRST.tour) return this.tour.state !== "off";
    return page.needs === "local" || this.session.token === null || this.session.may(page.needs);
  }

  /** Return what to show in place of a page that the person cannot see; null if they can. */
  #refusal(page) {
    if (page === undefined) return problem(new Error(words.errors.notFound));
    if (page.needs === "local") {
      return this.config.local ? null : problem(new Error(words.errors.localOnly));
    }
    if (this.session.token === null) {
      return signInPanel(this.session, this.config, this.#failure, () => this.#signIn());
    }
    if (!this.session.may(page.needs)) {
      return panel(words.session.noScope, el("p", {}, words.session.scope(page.needs)));
    }
    return null;
  }

  async #signIn() {
    try {
      await this.session.signIn();
    } catch (error) {
      this.#failure = error.message || words.session.unreachable;
      await this.show({ focus: true });
    }
  }

  #sessionChanged() {
    this.#failure = null;
    this.frame.showSession(this.session);
    this.#count();
    const [name] = this.#place();
    if (pages.find((page) => page.name === name)?.needs !== "local") this.show({ focus: true });
  }
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function start() {
  const answer = await fetch("/console/config");
  if (!answer.ok) throw new Error(words.errors.status(answer.status));
  const config = await answer.json();
  const issuer = config.local ? new URL(config.issuer) : null;
  if (issuer !== null && issuer.port === location.port && location.hostname === "localhost") {
    location.hostname = issuer.hostname; // the local issuer's own address, so that its answers can be read
    return;
  }
  await new App(config).start();
}

start().catch((error) => {
  document.body.append(el("main", {}, problem(error, () => location.reload())));
});
