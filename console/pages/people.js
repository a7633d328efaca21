// The people of a tenant: a list, a person's record with its sources, export, and erasure up to its proof.
import { withQuery } from "../api.js";
import { download, el, field, fill, select } from "../dom.js";
import { copyId } from "../names.js";
import { action, card, facts, form, number, outcome, part, table, when } from "../parts.js";
import { recordCard, rolesCard } from "../person_forms.js";
import { askReason, reasonFor } from "../reason.js";
import { words } from "../words.js";

const PAGE = 100, ERASURES = 20, MOST_SEARCHED = 1000, MOST_FOUND = 200, LOOK_MS = 3_000;
const PHONE = /^\+?[0-9 ()-]{5,}$/;
const ERASURE = "erasure";
const LISTS = ["usage", "chats", "messages", "deliveries", "invitations", "consents", "kept"]; // of an export
const said = words.pages.people;

async function show(main, [userId, kind, erasureId], context) {
  if (userId === undefined) return showList(main, context);
  if (kind === ERASURE) return showErasure(main, userId, erasureId ?? "", context);
  return showPerson(main, userId, context);
}

// ---------------------------------------------------------------------- the list

async function showList(main, { api }) {
  const place = el("div", { class: "stack" });
  const text = el("input", { type: "search", autocomplete: "off", maxlength: 200 });
  const search = form([field(said.search, text, said.searchHint)], said.find, async () => {
    const wanted = text.value.trim();
    if (wanted === "") {
      await first();
      return "";
    }
    const found = await find(api, wanted);
    fill(place, people(found, said.none));
    return found.length < MOST_FOUND ? said.found(number(found.length)) : said.manyFound(number(MOST_FOUND));
  });

  async function first(cursor = null, before = []) {
    const page = await api.get(withQuery("/v1/users", { limit: PAGE, cursor }));
    const items = [...before, ...page.items];
    const failure = outcome();
    fill(place, people(items, said.nobody), page.next_cursor === null ? null
      : action(words.parts.more, () => first(page.next_cursor, items), failure), failure);
  }

  const [, erasures] = await Promise.all([first(), erasuresOf(api)]);
  fill(main, el("h1", {}, said.name), search, place, card(said.erasures, erasures));
  return null;
}

/** The erasures in progress and the finished ones, newest first. */
async function erasuresOf(api) {
  const place = el("div", { class: "stack" });

  async function read(cursor = null, before = []) {
    const page = await api.get(withQuery("/v1/erasures", { limit: ERASURES, cursor }));
    const items = [...before, ...page.items], failure = outcome();
    fill(place, table(said.erasures, [said.person, said.state, said.requestedBy, said.requestedAt, said.finished],
      items.map((erasure) => [
        [el("a", { href: `#/people/${part(erasure.user_id)}/${ERASURE}/${part(erasure.id)}` }, said.erasedPerson), " ", copyId(erasure.user_id)],
        said.stages[erasure.stage] ?? erasure.stage, erasure.requested_by, when(erasure.requested_at), when(erasure.finished_at),
      ]), said.noErasures),
    page.next_cursor === null ? null : action(said.moreErasures, () => read(page.next_cursor, items), failure), failure);
  }

  await read();
  return place;
}

/** Return the owner of a number, or the first people with a name or an id. */
async function find(api, text) {
  if (PHONE.test(text)) {
    const phone = `+${text.replace(/[^0-9]/g, "")}`;
    return (await api.get(withQuery("/v1/users", { phone }))).items;
  }
  const found = await api.items(withQuery("/v1/users", { q: text }), MOST_FOUND);
  return [...new Map(found.map((user) => [user.id, user])).values()].slice(0, MOST_FOUND);
}

function people(users, none) {
  return table(said.list, [said.person, said.phones, said.zone, said.ids], users.map((user) => [
    el("a", { href: `#/people/${part(user.id)}` }, user.name || words.names.unnamed), user.phones.join(", "), user.time_zone ?? "", copyId(user.id),
  ]), none);
}

// ---------------------------------------------------------------------- a person

async function showPerson(main, userId, context) {
  const { api, session } = context;
  const path = `/v1/users/${part(userId)}`, subject = `user/${userId}`;
  const read = (reason) => api.get(withQuery(path, { reason }));
  const [user, chats, agents] = await Promise.all([read(reasonFor(subject)), api.get(`${path}/chats?limit=${PAGE}`),
    api.items("/v1/agents", MOST_SEARCHED)]);
  const names = new Map(agents.map((agent) => [agent.id, agent.name]));
  const title = el("h1", {}), record = el("div", { class: "stack" }), undone = outcome();
  const ask = async (reason) => {
    const current = await read(reason);
    if (current.profile === null) return said.notShown;
    draw(current);
    return null;
  };
  const undo = async (change) => {
    draw(await api.post(withQuery(`${path}/profile-changes/${part(change.id)}/undo`, { reason: reasonFor(subject) })));
    return said.undone(change.field);
  };
  const change = async (body) => draw(await api.patch(withQuery(path, { reason: reasonFor(subject) }), body));
  const roles = await rolesCard(api, user, session.may("owner"));
  function draw(current) {
    title.textContent = current.name || words.names.unnamed;
    fill(record, recordCard(current, change), roles, current.profile === null ? card(said.profile, askReason(said.why, subject, ask))
      : [profileOf(current, names), changesOf(current, names, undo, undone)]);
  }
  draw(user);
  const exported = outcome();
  fill(main,
    el("p", {}, el("a", { href: "#/people" }, said.all)),
    title, el("p", {}, copyId(user.id)), optedOut(chats.items, names),
    record, undone,
    card(said.chats, table(said.chats, [said.chat, said.channel, said.line, said.phone, said.optedOut, said.messages], chats.items.map((chat) => [
      el("a", { href: `#/transcripts/${part(chat.chat_id)}` }, said.with(names.get(chat.agent_id) ?? words.run.gone)),
      said.channels[chat.channel] ?? said.app, chat.line ?? "", chat.phone ?? "", optOuts(chat), number(chat.last_seq),
    ])), chats.next_cursor === null ? null : el("p", { class: "hint" }, said.newestChats(PAGE))),
    card(said.kept, el("ul", { class: "plain" }, [...new Set(chats.items.map((chat) => chat.agent_id).filter((id) => names.has(id)))].map((id) => el("li", {},
      el("a", { href: `#/agent/${part(id)}/memories/user/${part(user.id)}` }, said.memoriesOf(names.get(id))), " ",
      el("a", { href: `#/agent/${part(id)}/plans/user/${part(user.id)}` }, said.plansOf(names.get(id))))))),
    card(said.exporting, el("p", {}, said.aboutExport),
      action(said.export, () => exportOf(api, user, exported), exported), exported),
    erasing(api, user, names));
  return null;
}

/** Since when the person wants no messages in a chat, by channel. */
function optOuts({ opt_outs: since }) {
  return Object.entries(since).map(([channel, at]) => [said.since(said.channels[channel] ?? channel), " ", when(at)]);
}

/** A notice above the record of a person who has opted out. */
function optedOut(chats, names) {
  const out = chats.filter((chat) => Object.keys(chat.opt_outs).length > 0);
  if (out.length === 0) return null;
  return el("p", { class: "notice" }, said.hasOptedOut(out.map((chat) => names.get(chat.agent_id) ?? words.run.gone).join(", ")));
}

/** What is known of a person, with where each value comes from. */
function profileOf(user, names) {
  const rows = [["name", user.name], ["time_zone", user.time_zone], ...Object.entries(user.profile)];
  return card(said.profile, table(said.profile, [said.field, said.value, said.source],
    rows.map(([name, value]) => [name, textOf(value), value === null ? "" : sourceOf(user, name, names)])));
}

/** The newest change of a field that was not undone; undefined if operators or tokens set its value. */
function currentChange(user, name) {
  return user.profile_changes.find((change) => change.field === name && change.undone_at === null);
}

function sourceOf(user, name, names) {
  const change = currentChange(user, name);
  return change === undefined ? said.byOperator : sourceText(change, names);
}

function sourceText({ source }, names) {
  if (source === null) return said.byPerson;
  return [said.madeBy[source.made_by] ?? source.made_by, " ",
    said.from(names.get(source.agent_id) ?? words.run.gone, source.seqs.join(", ")), " ",
    el("a", { href: `#/transcripts/${part(source.chat_id)}` }, said.toChat),
    source.run_id === null ? null : [" ", el("a", { href: `#/why/run/${part(source.run_id)}` }, said.toRun)]];
}

function changesOf(user, names, undo, place) {
  const newest = new Set(user.profile_changes.map((change) => currentChange(user, change.field)));
  return card(said.changes, table(said.changes, [said.at, said.field, said.before, said.value, said.source, said.undoing],
    user.profile_changes.map((change) => [
      when(change.at), change.field, textOf(change.before), textOf(change.value), sourceText(change, names),
      change.undone_at !== null ? said.isUndone
        : change.source !== null && newest.has(change)
          ? action(said.undo, () => undo(change), place, { "aria-label": said.undoOf(change.field) }) : "",
    ]), said.noChanges));
}

function textOf(value) {
  if (value === null || value === undefined) return words.parts.none;
  return typeof value === "string" ? value : JSON.stringify(value);
}

// ---------------------------------------------------------------------- export and erasure

/** Read all pages of an export, and save them as one JSON file. */
async function exportOf(api, user, place) {
  const whole = { user: null, ...Object.fromEntries(LISTS.map((name) => [name, []])) };
  let cursor = null;
  do {
    const page = await api.get(withQuery(`/v1/users/${part(user.id)}/export`, { cursor }));
    whole.user ??= page.user;
    for (const name of LISTS) whole[name].push(...page[name]);
    cursor = page.next_cursor;
    place.textContent = said.reading(number(whole.messages.length));
  } while (cursor !== null);
  download(`export-${user.id}.json`, JSON.stringify(whole, null, 2));
  return said.exported(number(whole.chats.length), number(whole.messages.length));
}

/** The request for an erasure: its preview, the decision about named texts, and the id to confirm. */
function erasing(api, user, names) {
  const place = el("div", { class: "stack" });
  let asked = false;
  async function open({ target }) {
    if (!target.open || asked) return;
    asked = true;
    try {
      fill(place, erasureForm(api, user, await api.get(`/v1/users/${part(user.id)}/erasure-preview`), names));
    } catch (error) {
      asked = false;
      fill(place, el("p", { class: "notice", role: "alert" }, error.message));
    }
  }
  return card(said.erasing, el("details", { class: "more", on: { toggle: open } }, el("summary", {}, said.erase),
    el("p", {}, said.aboutErasure), place));
}

function erasureForm(api, user, preview, names) {
  const wanted = user.name || said.noNameToWrite, typed = el("input", { autocomplete: "off", required: true, spellcheck: "false" });
  let decision = "keep";
  const named = select([["keep", said.keepTexts], ["replace", said.replaceNames], ["remove", said.removeTexts]], decision, (chosen) => { decision = chosen; });
  return [previewOf(preview, names), form([field(said.namedTexts, named), field(said.confirm(wanted), typed)], said.eraseNow, async () => {
    if (typed.value.trim() !== wanted) return said.otherName;
    const erasure = await api.delete(withQuery(`/v1/users/${part(user.id)}`, { named_texts: decision }));
    location.hash = `#/people/${part(user.id)}/${ERASURE}/${part(erasure.id)}`;
    return "";
  })];
}

/** What an erasure would do, by kind, and the texts that have the person's full name. */
function previewOf(preview, names) {
  const rules = [preview.erased, preview.replaced, preview.made_again, preview.named];
  const kinds = [...new Set(rules.flatMap((counts) => Object.keys(counts)))].sort();
  return [
    el("h3", {}, said.preview),
    preview.complete ? null : el("p", { class: "notice" }, said.incomplete),
    table(said.preview, [said.kind, said.willErase, said.willReplace, said.willMakeAgain, said.willName],
      kinds.map((kind) => [kind.replaceAll("_", " "), ...rules.map((counts) => number(counts[kind] ?? 0))]), said.nothingToErase),
    el("h3", {}, said.textsNamed),
    table(said.textsNamed, [said.kind, said.chat, said.agent, said.excerpt], preview.named_texts.map((text) => [
      text.kind,
      text.chat_id === null ? "" : el("a", { href: `#/transcripts/${part(text.chat_id)}` }, text.seq === null ? said.aChat
        : said.messageIn(text.seq)),
      text.agent_id === null ? "" : names.get(text.agent_id) ?? words.run.gone, text.excerpt ?? said.isPrivate,
    ]), said.noTextsNamed),
  ];
}

async function showErasure(main, userId, erasureId, { api, config, announce }) {
  const path = `/v1/erasures/${part(erasureId)}`;
  const place = el("div", { class: "stack" });
  let timer = null, ended = false, stage = null;

  async function look() {
    const erasure = await api.get(path);
    if (ended) return;
    fill(place, progress(erasure, config));
    if (stage !== null && stage !== erasure.stage) announce(said.stages[erasure.stage] ?? erasure.stage);
    stage = erasure.stage;
    if (erasure.finished_at === null) timer = setTimeout(() => look().catch(failed), LOOK_MS);
  }
  function failed(error) {
    fill(place, el("p", { class: "notice", role: "alert" }, error.message));
    timer = setTimeout(() => look().catch(failed), LOOK_MS);
  }

  await look();
  fill(main, el("p", {}, el("a", { href: "#/people" }, said.all)), el("h1", {}, said.erasureOf), el("p", {}, copyId(userId)), place);
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

function progress(erasure, config) {
  const done = erasure.finished_at !== null;
  const kinds = [...new Set(erasure.sweeps.flatMap((sweep) => Object.keys(sweep.counts)))].sort();
  return [
    card(done ? said.proof : said.atWork,
      el("p", { class: done ? "good" : "state" }, done ? said.isErased : said.stages[erasure.stage] ?? erasure.stage),
      facts([[said.requestedBy, erasure.requested_by], [said.requestedAt, when(erasure.requested_at)],
        [said.sweepAgain, erasure.sweep_again_at && when(erasure.sweep_again_at)],
        [said.finished, erasure.finished_at && when(erasure.finished_at)]]),
      !done && config.local && erasure.sweep_again_at ? el("p", {}, el("a", { href: "#/time" }, said.turnClock)) : null,
      el("p", { class: "hint" }, erasure.backups)),
    card(said.counts, table(said.counts, [said.kind, ...erasure.sweeps.map((sweep, at) => said.sweep(at + 1))],
      kinds.map((name) => [name.replaceAll("_", " "), ...erasure.sweeps.map((sweep) => number(sweep.counts[name] ?? 0))]))),
    done ? savedProof(erasure) : null,
  ];
}

function savedProof(erasure) {
  const place = outcome();
  return el("div", {}, action(said.save, () => download(`${erasure.id}.json`, JSON.stringify(erasure, null, 2)), place), place);
}

export default { name: "people", needs: "support", show };
