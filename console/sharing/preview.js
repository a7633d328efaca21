// What an agent could use to answer a person in private, and why it may.
import { withQuery } from "../api.js";
import { el, field, fill } from "../dom.js";
import { agentPicker, personPicker } from "../names.js";
import { form, when } from "../parts.js";
import { reasonField } from "../reason.js";
import { words } from "../words.js";

const MAX_QUESTION = 2000;
const said = words.pages.sharing.preview;

/** A form that asks what could be used. */
export async function previewForm(api) {
  const [person, agent] = await Promise.all([personPicker(api, { label: said.person }), agentPicker(api, { label: said.agent })]);
  const question = el("input", { required: true, maxlength: MAX_QUESTION, autocomplete: "off" });
  const reason = reasonField(said.reason);
  const place = el("div", { class: "stack", role: "status" });
  const made = form([el("div", { class: "row fields" }, person.node, agent.node), field(said.question, question), reason.node], said.show, async () => {
    const { items } = await api.get(withQuery("/v1/sharing/preview", {
      agent_id: agent.control.value, user_id: person.control.value, q: question.value.trim(), reason: reason.given(),
    }));
    fill(place, items.length === 0 ? el("p", { class: "empty" }, said.nothing) : el("ol", { class: "items", "aria-label": said.result }, items.map((item) => el("li", {},
      el("p", { class: "text" }, item.text),
      el("p", { class: "hint" }, said.from(item.sender.name || words.names.unnamed), " ", when(item.created_at)),
      el("p", {}, item.why)))));
  });
  return el("div", { class: "stack" }, made, place);
}
