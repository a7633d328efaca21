// The documents of an agent with an editor, and the skills of the tenant.
import { withQuery } from "../api.js";
import { el, field } from "../dom.js";
import { action, card, form, lazy, number, outcome, paged, part, when } from "../parts.js";
import { words } from "../words.js";

const said = words.pages.agent.files;

export async function documents(api, agent, scope, again) {
  const path = (id = "") => withQuery(`/v1/agents/${part(agent.id)}/documents${id && `/${part(id)}`}`, scope);
  const list = await paged(api, path(), (head) => [
    lazy(head.name, async () => editor(await api.get(path(head.id))), { class: "more strong" }),
    el("p", { class: "hint" }, said.version(head.version), ", ", said.characters(number(head.characters)), ", ", when(head.updated_at),
      head.global ? `, ${said.global}` : "", head.public ? `, ${said.public}` : "", ", ",
      head.source_run_id ? el("a", { href: `#/why/run/${part(head.source_run_id)}` }, said.fromRun) : said.fromOperator),
  ], said.noDocuments);

  function editor(document) {
    const text = el("textarea", { rows: 14, value: document.text, spellcheck: "false" });
    const global = el("input", { type: "checkbox", checked: document.global, id: `global-${document.id}` });
    const open = Object.keys(scope).length === 0;
    const shown = visible(document.public, document.id);
    const place = outcome();
    const save = async () => {
      const changed = { text: text.value, global: global.checked, version: document.version };
      await api.call("PUT", path(document.id), open ? { ...changed, public: shown.box.checked } : changed);
      await again();
    };
    const remove = async () => {
      await api.delete(path(document.id));
      await again();
    };
    return [
      form([field(said.text, text), el("div", { class: "check" }, global, el("label", { for: global.id }, said.inPrompts)),
        open ? shown.row : null], said.save, save),
      action(said.delete, remove, place, { "aria-label": said.deleteNamed(document.name) }), place,
    ];
  }
  return [card(said.documents, list), Object.keys(scope).length > 0 ? null : newDocument()];

  function newDocument() {
    const name = el("input", { required: true, maxlength: 200, autocomplete: "off" });
    const text = el("textarea", { rows: 6 });
    const create = async () => {
      await api.post(path(), { name: name.value.trim(), text: text.value });
      await again();
    };
    return card(said.newDocument, form([field(said.name, name), field(said.text, text)], said.create, create));
  }
}

export async function skills(api, _agent, _scope, again) {
  const found = await api.get("/v1/skills"); // always whole
  const list = el("ul", { class: "items" }, found.items.map((head) => el("li", {},
    lazy(head.name, async () => editor(await api.get(`/v1/skills/${part(head.name)}`)), { class: "more strong" }),
    el("p", { class: "hint" }, [head.description.replace(/\.$/, ""), head.shipped ? said.shipped : said.own,
      head.tags.length > 0 ? said.tags(head.tags.join(", ")) : "", head.modes.length > 0 ? said.modes(head.modes.join(", ")) : ""]
      .filter(Boolean).join(", ")))));

  function editor(skill) {
    const place = outcome();
    const remove = async () => {
      await api.delete(`/v1/skills/${part(skill.name)}`);
      await again();
    };
    const save = async (body) => {
      await api.call("PUT", `/v1/skills/${part(skill.name)}`, body);
      await again();
    };
    return [
      skillForm(skill, skill.shipped ? said.replaceShipped : said.save, save),
      skill.shipped ? null : action(said.delete, remove, place, { "aria-label": said.deleteNamed(skill.name) }), place,
    ];
  }
  const create = async (skill) => {
    await api.post("/v1/skills", skill);
    await again();
  };
  return [
    card(said.skills, el("p", { class: "hint" }, said.skillsHint), list),
    card(said.newSkill, skillForm(null, said.create, create)),
  ];
}

/** A box that says whether visitors of web pages may be shown something, with its label. */
function visible(checked, id) {
  const box = el("input", { type: "checkbox", checked, id: `public-${id}` });
  return { box, row: el("div", { class: "check" }, box, el("label", { for: box.id }, said.toVisitors)) };
}

/** A form for a skill, or for a new one; `save` gets its values. */
function skillForm(skill, label, save) {
  const name = skill === null ? el("input", { required: true, maxlength: 64, autocomplete: "off", spellcheck: "false" }) : null;
  const description = el("input", { maxlength: 200, autocomplete: "off", value: skill?.description ?? "" });
  const tags = el("input", { autocomplete: "off", value: skill?.tags.join(", ") ?? "" });
  const modes = el("input", { autocomplete: "off", value: skill?.modes.join(", ") ?? "" });
  const text = el("textarea", { rows: 12, required: true, maxlength: 20_000, value: skill?.text ?? "", spellcheck: "false" });
  const shown = visible(skill?.public ?? false, skill?.name ?? "new");
  const listed = (control) => control.value.split(",").map((each) => each.trim()).filter(Boolean);
  return form([
    name === null ? null : field(said.skillName, name, said.skillNameHint), field(said.description, description),
    el("div", { class: "row fields" }, field(said.tagList, tags), field(said.modeList, modes)), field(said.text, text),
    skill?.shipped ? null : shown.row,
  ], label, () => save({
    ...(name === null ? {} : { name: name.value.trim() }),
    description: description.value.trim(), tags: listed(tags), modes: listed(modes), text: text.value,
    public: !skill?.shipped && shown.box.checked,
  }));
}
