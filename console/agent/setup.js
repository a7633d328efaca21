// What operators set of an agent: system prompt and model with their history, tools, and a preview.
import { withQuery } from "../api.js";
import { difference } from "../diff.js";
import { el, field, fill, select } from "../dom.js";
import { action, announce, card, form, lazy, more, outcome, part, when } from "../parts.js";
import { chatPicker } from "../names.js";
import { promptCard } from "../run_view.js";
import { toolGroups, toolWords } from "../tool_words.js";
import { words } from "../words.js";

const said = words.pages.agent.setup;

// ---------------------------------------------------------------------- system prompt and model

export async function systemPrompt(api, agent, _scope, again) {
  const path = `/v1/agents/${part(agent.id)}`;
  const prompt = el("textarea", { rows: 10, value: agent.system_prompt });
  const model = el("input", { value: agent.model ?? "", autocomplete: "off", maxlength: 200 });
  const mode = select([["", said.ofDeployment], ["text", said.text], ["tools", said.tools]], agent.reply_mode ?? "", () => {});
  const outsiders = select([["", said.byTools], ["quoted", said.quoted], ["none", said.noOutsiders]],
    agent.outsiders ?? "", () => {});
  const versions = await api.get(`${path}/versions`);

  async function save() {
    Object.assign(agent, await api.patch(path, {
      system_prompt: prompt.value, model: model.value.trim() || null, reply_mode: mode.value || null, outsiders: outsiders.value || null,
    }));
    await again();
    announce(said.saved);
  }
  return [
    card(said.promptAndModel, form([
      field(said.systemPrompt, prompt), el("div", { class: "row fields" }, field(said.model, model, said.modelHint), field(said.replyMode, mode),
        field(said.outsiders, outsiders, said.outsidersHint)),
    ], said.save, save)),
    card(said.history, el("ol", { class: "items" }, versions.items.map((version, place) =>
      el("li", {}, versionOf(version, versions.items[place + 1], place === 0, restore))))),
  ];

  async function restore(version) {
    Object.assign(agent, await api.post(`${path}/versions/${version}/restore`));
    await again();
  }
}

function versionOf(version, before, current, restore) {
  const place = outcome();
  return [
    el("h3", {}, said.version(version.version), current ? ` (${said.current})` : ""),
    el("p", { class: "hint" }, when(version.changed_at), " ", version.changed_by ? said.by(version.changed_by) : "",
      version.restored_from === null ? "" : ` ${said.restoredFrom(version.restored_from)}`),
    before === undefined ? null : lazy(said.changes, () => changed(before.configuration, version.configuration)),
    current ? null : action(said.restore, () => restore(version.version), place,
      { "aria-label": said.restoreVersion(version.version) }),
    place,
  ];
}

/** The fields of a configuration that differ, each line by line. */
function changed(before, now) {
  const names = Object.keys(now).filter((name) => text(before[name]) !== text(now[name]));
  if (names.length === 0) return el("p", { class: "empty" }, said.noChange);
  return names.map((name) => el("section", {}, el("h4", {}, name), difference(text(before[name]), text(now[name]))));
}

function text(value) { return typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2); }

// ---------------------------------------------------------------------- tools

export async function tools(api, agent, _scope, again) {
  const { items } = await api.get("/v1/tool-tokens");
  const tokens = new Map(items.map((each) => [each.name, each.tokens]));
  const own = [...new Set([...tokens.keys(), ...agent.enabled_tools])].filter((name) => !(name in toolWords));
  const groups = [...Object.entries(toolGroups).map(([name, names]) => new ToolGroup(said.groups[name], names, agent, tokens)),
    ...(own.length === 0 ? [] : [new ToolGroup(said.ownTools, own, agent, tokens)])];
  const total = el("p", { "aria-live": "polite" });
  const count = () => { total.textContent = said.total(groups.reduce((sum, group) => sum + group.count(), 0)); };

  async function save() {
    const enabled_tools = groups.flatMap((group) => group.chosen);
    Object.assign(agent, await api.patch(`/v1/agents/${part(agent.id)}`, { enabled_tools }));
    await again();
  }
  const made = form([el("div", { class: "tool-groups" }, groups.map((group) => group.node)), total], said.save, save);
  made.addEventListener("change", count);
  count();
  return [card(said.enabledTools, el("p", { class: "hint" }, agent.reply_mode === "text" ? said.textMode : said.toolsHint), made,
    el("p", {}, el("a", { href: "#/tools" }, said.toTools)))];
}

/** Tools that are turned on together, or one by one. */
class ToolGroup {
  #boxes;
  #all;
  #tokens;
  #figures = el("span", { class: "hint" });

  constructor(title, names, agent, tokens) {
    this.#tokens = tokens;
    this.#boxes = names.map((name) => el("input", { type: "checkbox", value: name, id: `tool-${name}`, checked: agent.enabled_tools.includes(name) }));
    this.#all = el("input", { type: "checkbox", on: { change: () => this.#boxes.forEach((box) => { box.checked = this.#all.checked; }) } });
    this.#all.id = `tools-${names[0]}`;
    const rows = this.#boxes.map((box) => el("li", {}, box, el("label", { for: box.id }, box.value,
      el("span", { class: "hint" }, toolWords[box.value] ?? "", " ", said.tokens(tokens.get(box.value) ?? 0)))));
    this.node = el("section", { class: "tool-group" },
      el("div", { class: "check" }, this.#all, el("label", { for: this.#all.id }, el("strong", {}, title), " ", this.#figures)),
      more(said.oneByOne(title), el("ul", { class: "checks tools" }, rows)));
  }

  /** The names that are checked. */
  get chosen() { return this.#boxes.filter((box) => box.checked).map((box) => box.value); }

  /** Show how many are checked; return their tokens. */
  count() {
    const sum = this.chosen.reduce((total, name) => total + (this.#tokens.get(name) ?? 0), 0);
    this.#all.checked = this.chosen.length === this.#boxes.length;
    this.#all.indeterminate = this.chosen.length > 0 && !this.#all.checked;
    this.#figures.textContent = said.chosen(this.chosen.length, this.#boxes.length, sum);
    return sum;
  }
}

// ---------------------------------------------------------------------- preview

export async function preview(api, agent, scope) {
  const chat = await chatPicker(api, { label: said.chat, agentId: agent.id, chosen: scope.chat_id ?? null, none: said.noChat });
  const why = el("input", { minlength: 15, maxlength: 300, autocomplete: "off" });
  const place = el("div", { class: "stack" });

  async function look() {
    const path = withQuery(`/v1/agents/${part(agent.id)}/context`, {
      chat_id: chat.control.value || null, reason: why.value.trim() || null,
    });
    fill(place, promptCard(await api.get(path), said.wouldSee));
  }
  if (scope.chat_id) await look();
  return [card(said.preview, el("p", { class: "hint" }, said.previewHint), form([chat.node, field(said.why, why, words.reason.hint)], said.look, look)), place];
}
