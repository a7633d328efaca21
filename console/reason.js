// The reason for which operators read and change private content; the audit log keeps it.
import { el, field } from "./dom.js";
import { form } from "./parts.js";
import { words } from "./words.js";

const SHORTEST = 15, LONGEST = 300;
const said = words.reason;
const given = new Map(); // by what is private; a reload of the page forgets them

/** Return the reason that was given for something private; null before. */
export function reasonFor(subject) { return given.get(subject) ?? null; }

/** Use a reason for something private, as if it had been given. */
export function giveReason(subject, reason) { given.set(subject, reason); }

/** A field for a reason; without one that was `known`, `given` is null as long as it is empty. */
export function reasonField(label, known = null) {
  const control = el("input", { minlength: SHORTEST, maxlength: LONGEST, autocomplete: "off", value: known ?? "" });
  return { node: field(label, control, said.hint), given: () => control.value.trim() || null };
}

/** Ask once for a reason for something private, perhaps with a suggestion; `show` runs with it, and returns words or null. */
export function askReason(question, subject, show, label = said.read, suggestion = "") {
  const reason = el("input", { required: true, minlength: SHORTEST, maxlength: LONGEST, autocomplete: "off", value: suggestion });
  return form([field(question, reason, said.hint)], label, async () => {
    const why = reason.value.trim();
    const outcome = await show(why);
    given.set(subject, why);
    return outcome ?? "";
  });
}
