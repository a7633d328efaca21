// The canned answers of the tenant: a list, and forms that create, change and delete one.
import { el, field, fill } from "../dom.js";
import { action, card, form, more, outcome, part } from "../parts.js";
import { words } from "../words.js";
import { cannedAnswers } from "./canned.js";

const NAME = "[a-z0-9][a-z0-9_\\-]{0,39}", LONGEST = 4_000; // as the API takes them
const PATH = "/v1/canned-answers";
const said = words.pages.desk.answers;

/** Show the canned answers in a place. */
export async function showAnswers(place, { api }) {
  const list = el("ul", { class: "items" }), none = el("p", { class: "empty" }, said.none);

  async function look() {
    const answers = await cannedAnswers(api);
    none.hidden = answers.length > 0;
    fill(list, answers.map((answer) => el("li", {}, row(api, answer, look))));
  }
  await look();
  fill(place, card(said.title, el("p", { class: "hint" }, said.hint), none, list), card(said.add, adding(api, look)));
}

function row(api, { name, text }, look) {
  const path = `${PATH}/${part(name)}`, told = outcome(), box = textBox(text);
  const save = async () => {
    await api.patch(path, { text: box.value });
    await look();
  };
  const remove = async () => {
    await api.delete(path);
    await look();
  };
  return [el("h3", {}, `/${name}`), el("p", { class: "text" }, text), more(said.edit(name), form([field(said.text, box)], said.save, save)),
    action(said.remove, remove, told, { "aria-label": said.removeOf(name) }), told];
}

function adding(api, look) {
  const name = el("input", { required: true, pattern: NAME, maxlength: 40, autocomplete: "off", spellcheck: "false" }), text = textBox("");
  const made = form([field(said.name, name, said.nameHint), field(said.text, text, said.textHint)], said.create, async () => {
    await api.post(PATH, { name: name.value, text: text.value });
    made.reset();
    await look();
    return said.created;
  });
  return made;
}

function textBox(value) { return el("textarea", { rows: 3, required: true, maxlength: LONGEST, value }); }
