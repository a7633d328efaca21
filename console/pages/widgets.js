// Web chats: make one, see it as visitors do, and copy its snippet.
import { el, field, fill, select } from "../dom.js";
import { action, card, form, lazy, outcome, part, verbatim } from "../parts.js";
import { words } from "../words.js";

const MOST = 200, SCRIPT = "/widget/v1.js";
const said = words.pages.widgets;

async function show(main, _args, { api, config, session }) {
  const list = el("div", { class: "stack" }), owns = session.may("owner");
  const agents = new Map((await api.items("/v1/agents", MOST)).map(({ id, name }) => [id, name]));

  async function refresh() {
    const widgets = await api.items("/v1/widgets", MOST);
    fill(list, widgets.length === 0 ? el("p", { class: "empty" }, said.none) : widgets.map((each) => shown(api, each, agents, owns, config, refresh)));
  }
  await refresh();
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about), card(said.own, list),
    owns ? card(said.add, newWidget(api, agents, config, refresh)) : null);
  return () => document.querySelector("skein-chat")?.remove();
}

/** A web chat with its snippet, and what an owner can do with it. */
function shown(api, widget, agents, owns, config, refresh) {
  const path = `/v1/widgets/${part(widget.id)}`, place = outcome(), { name } = widget.public;
  const does = (what, call) => action(said.does[what], async () => {
    await call();
    await refresh();
  }, place, { "aria-label": said.of(said.does[what], name) });
  const preview = action(said.preview, () => previewed(widget), place, { "aria-label": said.of(said.preview, name) });
  return el("section", {}, el("h3", {}, name),
    el("p", { class: "hint" }, said.facts(agents.get(widget.agent_id) ?? widget.agent_id, widget.origins.join(", "), widget.enabled)),
    lazy(said.snippet, () => snippets(api, widget)),
    config.local ? el("p", { class: "hint" }, said.try, " ", el("code", {}, `${otherOrigin()}/local/page?widget=${widget.id}`)) : null,
    el("div", { class: "row" }, preview,
      owns ? does(widget.enabled ? "disable" : "enable", () => api.patch(path, { enabled: !widget.enabled })) : null,
      owns ? does("remove", () => api.delete(path)) : null), place);
}

/** Show a web chat in the corner of this page, with nothing behind it. */
async function previewed({ id, agent_id, public: { name, ways }, greeting, starters, consent, theme }) {
  await import(SCRIPT);
  await customElements.whenDefined("skein-chat");
  document.querySelector("skein-chat")?.remove();
  const chat = el("skein-chat");
  chat.preview = { id, agent_id, name, ways, greeting, starters, consent, theme };
  document.body.append(chat);
  chat.open();
}

/** The lines for a page: with the newest version, and with one version by its hash. */
async function snippets(api, { id, theme }) {
  const text = await api.file(SCRIPT), [, version] = /(\d+\.\d+\.\d+)/.exec(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-384", new TextEncoder().encode(text)));
  const looks = ["color", "scheme", "side"].map((each) => (theme[each] ? ` ${each}="${theme[each]}"` : "")).join("");
  const tag = `<skein-chat widget="${id}"${looks}></skein-chat>`;
  const integrity = `integrity="sha384-${btoa(String.fromCharCode(...hash))}" crossorigin="anonymous"`;
  return [verbatim(`<script async src="${location.origin}${SCRIPT}"></script>\n${tag}`, said.newest), el("p", { class: "hint" }, said.pinned),
    verbatim(`<script async src="${location.origin}/widget/${version}/chat.js" ${integrity}></script>\n${tag}`, said.pinned)];
}

/** This machine's other origin on a local stack. */
function otherOrigin() {
  return location.hostname === "localhost" ? location.origin.replace("localhost", "127.0.0.1") : location.origin.replace("127.0.0.1", "localhost");
}

function newWidget(api, agents, config, refresh) {
  const text = (most, given = {}) => el("input", { maxlength: most, autocomplete: "off", ...given });
  const agent = select([...agents], null, () => {}), name = text(100, { required: true });
  const origins = text(2000, { required: true, value: config.local ? otherOrigin() : "", placeholder: "https://shop.example" });
  const greeting = text(500), starters = el("textarea", { rows: 3 }), consent = text(2000), url = text(2000, { type: "url" });
  const required = el("input", { type: "checkbox" }), color = text(7, { pattern: "#([0-9a-fA-F]{3}){1,2}", placeholder: "#0b57d0" });
  const ways = el("textarea", { rows: 2, placeholder: said.waysExample });
  const lines = (control) => control.value.split("\n").map((line) => line.trim()).filter(Boolean);
  return form([el("div", { class: "row fields" }, field(said.title, name), field(said.agent, agent)), field(said.origins, origins, said.originsHint),
    field(said.greeting, greeting), field(said.starters, starters, said.startersHint), field(said.ways, ways, said.waysHint),
    field(said.consent, consent, said.consentHint), field(said.consentUrl, url), field(said.required, required), field(said.color, color)], said.create, async () => {
    const links = lines(ways).map((line) => { const [label, ...rest] = line.split(" | "); return { label, url: rest.join(" | ") }; });
    await api.post("/v1/widgets", {
      agent_id: agent.value, origins: origins.value.split(",").map((each) => each.trim()).filter(Boolean),
      public: { name: name.value, ways: links }, greeting: greeting.value || null, starters: lines(starters),
      consent: consent.value ? { text: consent.value, url: url.value || null, required: required.checked } : null,
      theme: { color: color.value || null },
    });
    await refresh();
    return said.created(name.value);
  });
}

export default { name: "widgets", needs: "support", show };
