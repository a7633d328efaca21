// Sources of knowledge: their state, their versions, what a question finds, and what was missing.
import { difference } from "../diff.js";
import { button, el, field, fill, select } from "../dom.js";
import { uploaded } from "../media.js";
import { action, card, form, lazy, outcome, part, table, when } from "../parts.js";
import { askReason } from "../reason.js";
import { words } from "../words.js";

const MOST = 200, AUDIENCES = ["everyone", "public", "roles"];
const said = words.pages.knowledge;

async function show(main, args, { api, session }) {
  const list = el("div", { class: "stack" }), owns = session.may("owner");

  async function refresh() {
    const sources = await api.items("/v1/sources", MOST);
    fill(list, sources.length === 0 ? el("p", { class: "empty" }, said.none) : sources.map((source) => shown(api, source, owns, refresh)));
  }
  await refresh();
  const agents = await api.items("/v1/agents", MOST);
  const add = el("div", { class: "stack" });
  fill(add, newSource(api, refresh, args[0] ?? ""));
  const answer = (question) => { fill(add, newSource(api, refresh, question)); add.scrollIntoView(); };
  fill(main, el("h1", {}, said.name), el("p", { class: "about" }, said.about), card(said.own, list),
    owns ? card(said.add, add) : null, card(said.ask, trial(api, agents)), card(said.missing, missing(api, agents, answer)));
  return null;
}

/** A source with its state, its versions, and what an owner can do with it. */
function shown(api, source, owns, refresh) {
  const path = `/v1/sources/${part(source.id)}`, place = outcome();
  const calls = (call) => async () => {
    await call();
    await refresh();
  };
  const does = (name, call) => action(said.does[name], calls(call), place, { "aria-label": said.of(said.does[name], source.name) });
  const actions = owns ? el("div", { class: "row" },
    source.url ? does("refresh", () => api.post(`${path}/refresh`)) : null,
    source.held ? does("accept", () => api.post(`${path}/versions/0/restore`)) : null,
    does(source.enabled ? "disable" : "enable", () => api.patch(path, { enabled: !source.enabled })),
    does("remove", () => api.delete(path))) : null;
  return el("section", {}, el("h3", {}, source.name),
    el("p", { class: "hint" }, said.states[source.state], " ", said.facts(source), source.text ? [" ", said.asOf, " ", when(source.text.as_of)] : null),
    source.error ? el("p", { class: "hint" }, source.error) : null,
    source.held && source.version ? lazy(said.compare, () => compared(api, path, source.version, 0)) : null,
    lazy(said.versions, () => versions(api, path, owns, refresh)), actions, place);
}

async function compared(api, path, before, after) {
  const [old, now] = await Promise.all([before, after].map((number) => api.get(`${path}/versions/${number}/text`)));
  return difference(old.text, now.text);
}

/** The versions of a source, each with its difference to the one before. */
async function versions(api, path, owns, refresh) {
  const { items } = await api.get(`${path}/versions`), place = outcome();
  const rows = items.map(({ version, changed_at, changed_by }, index) => [
    said.version(version), when(changed_at), changed_by ?? said.byReading,
    items[index + 1] ? lazy(said.difference, () => compared(api, path, items[index + 1].version, version)) : "",
    owns && index > 0 ? action(said.restore, async () => {
      await api.post(`${path}/versions/${version}/restore`);
      await refresh();
    }, place, { "aria-label": said.of(said.restore, said.version(version)) }) : "",
  ]);
  return [table(said.versions, said.versionHeads, rows), place];
}

// ---------------------------------------------------------------------- a new one

function newSource(api, refresh, question) {
  const name = el("input", { required: true, maxlength: 200, autocomplete: "off", value: question.slice(0, 200) });
  const url = el("input", { type: "url", maxlength: 2000, autocomplete: "off", placeholder: "https://shop.example/hours" });
  const file = el("input", { type: "file" });
  const text = el("textarea", { rows: 6, maxlength: 200_000, value: question ? `# ${question}\n\n` : "" });
  const roles = el("input", { autocomplete: "off" });
  const audience = select(AUDIENCES.map((each) => [each, said.audiences[each]]), "everyone", () => {});
  return form([
    field(said.sourceName, name), field(said.url, url, said.urlHint), field(said.file, file, said.fileHint), field(said.text, text),
    el("div", { class: "row fields" }, field(said.audience, audience), field(said.roles, roles, said.rolesHint)),
  ], said.create, async () => {
    const named = roles.value.split(",").map((each) => each.trim()).filter(Boolean);
    const [chosen] = file.files;
    const origin = chosen ? { upload_id: await uploaded(api, "/v1/sources/uploads", chosen, typeOf(chosen)) } : url.value ? { url: url.value } : { text: text.value };
    await api.post("/v1/sources", { name: name.value, audience: audience.value, roles: named, ...origin });
    await refresh();
    return said.created(name.value);
  });
}

/** The media type of a file; browsers tell that of a CSV file differently. */
function typeOf(file) { return file.name.endsWith(".csv") ? "text/csv" : file.type || "text/plain"; }

// ---------------------------------------------------------------------- questions

function trial(api, agents) {
  const place = el("div", { class: "stack" });
  const query = el("input", { required: true, maxlength: 2000, autocomplete: "off" });
  const agent = select(agents.map(({ id, name }) => [id, name]), agents[0]?.id, () => {});
  const roles = el("input", { autocomplete: "off" });
  return el("div", { class: "stack" }, form([field(said.question, query),
    el("div", { class: "row fields" }, field(said.agent, agent), field(said.readers, roles, said.rolesHint))], said.search, async () => {
    const named = roles.value.split(",").map((each) => each.trim()).filter(Boolean);
    const found = await api.post("/v1/sources/search", { query: query.value, agent_id: agent.value, roles: named });
    fill(place, el("p", { class: "hint" }, found.answered ? said.answered : said.unanswered),
      found.items.map((each) => el("section", {}, el("h3", {}, [each.name, each.place].filter(Boolean).join(", ")),
        el("p", { class: "hint" }, said.score(each.score.toFixed(2)), " ", said.asOf, " ", when(each.as_of)), el("pre", {}, each.text))));
  }), place);
}

/** Today's questions that no source answered, as links to their runs; the words need a reason. */
function missing(api, agents, answer) {
  return lazy(said.showMissing, async () => {
    const pages = await Promise.all(agents.map(({ id }) => api.get(`/v1/agents/${part(id)}/runs?limit=100`)));
    const runs = pages.flatMap(({ items }) => items).filter(({ marks }) => marks.includes("knowledge_missing"));
    if (runs.length === 0) return el("p", { class: "empty" }, said.nothingMissing);
    return el("ul", {}, runs.map((run) => el("li", {}, when(run.created_at), " ",
      el("a", { href: `#/why/run/${part(run.id)}` }, said.why), " ", asked(api, run, answer))));
  });
}

function asked(api, run, answer) {
  if (run.preview?.asked) return [run.preview.asked, " ", button(said.answer, () => answer(run.preview.asked))];
  return lazy(said.answer, () => askReason(said.reason, run.chat_id ?? run.id, async (reason) => {
    const whole = await api.get(`/v1/runs/${part(run.id)}?reason=${part(reason)}`);
    answer(whole.preview?.asked ?? "");
    return null;
  }));
}

export default { name: "knowledge", needs: "support", show };
