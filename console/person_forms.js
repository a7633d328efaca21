// What operators change about a person: the record, and the roles that sharing rules name.
import { el, field, fill } from "./dom.js";
import { peopleNames, personPicker } from "./names.js";
import { action, card, facts, form, lazy, more, outcome, part } from "./parts.js";
import { words } from "./words.js";

const MAX_NAME = 200, MAX_ROLES = 10;
export const ROLE = "[a-z][a-z0-9 _\\-]{0,39}"; // as the API takes it
const said = words.pages.people;

/** The card of a person's record, with a form; `change` gets the fields that have changed. */
export function recordCard(user, change) {
  const name = el("input", { required: true, maxlength: MAX_NAME, autocomplete: "off", value: user.name });
  const zone = el("input", { maxlength: 100, autocomplete: "off", spellcheck: "false", value: user.time_zone ?? "" });
  // A name that is sent counts as given by an operator, so one that stays is not sent.
  const save = async () => {
    const wanted = { name: name.value.trim(), time_zone: zone.value.trim() || null };
    const changed = Object.entries(wanted).filter(([each, value]) => value !== user[each]);
    if (changed.length > 0) await change(Object.fromEntries(changed));
  };
  const quiet = user.quiet_hours === null ? null : said.hours(user.quiet_hours.from, user.quiet_hours.to);
  return card(said.record,
    facts([[said.nameSource, said.nameSources[user.name_source]], [said.phones, user.phones.join(", ")], [said.zone, user.time_zone], [said.quiet, quiet]]),
    more(said.change, form([field(said.personName, name), field(said.zone, zone, said.zoneHint)], said.save, save)));
}

/** The card of a person's roles; for an owner, with ways to give and to end one. */
export async function rolesCard(api, user, owner) {
  const place = el("div", { class: "stack" }), path = `/v1/users/${part(user.id)}`;
  let roles = user.roles;

  async function set(wanted) {
    roles = (await api.patch(path, { roles: wanted })).roles;
    await show();
  }
  async function show() {
    const names = await peopleNames(api, roles.map((each) => each.subject).filter(Boolean)), failure = outcome();
    fill(place, roles.length === 0 ? el("p", { class: "empty" }, said.noRoles) : el("ul", { class: "items" }, roles.map((each) => {
      const text = each.subject === null ? each.role : said.roleOf(each.role, names.get(each.subject));
      const end = () => set(roles.filter((other) => other !== each));
      return el("li", { class: "row start" }, el("span", {}, text), owner ? action(said.endRole, end, failure, { "aria-label": said.endRoleOf(text) }) : null);
    })), failure);
  }
  async function giving() {
    const role = el("input", { required: true, pattern: ROLE, maxlength: 40, autocomplete: "off", spellcheck: "false" });
    const subject = await personPicker(api, { label: said.subject, none: said.noSubject, hint: said.subjectHint });
    const wanted = () => [...roles, { role: role.value.trim(), subject: subject.control.value || null }];
    return form([field(said.role, role, said.roleHint), subject.node], said.giveRole, async () => {
      await set(wanted());
      role.value = "";
    });
  }
  await show();
  return card(said.roles, el("p", { class: "hint" }, said.aboutRoles, " ", el("a", { href: "#/sharing" }, said.toSharing)), place,
    owner && roles.length < MAX_ROLES ? lazy(said.newRole, giving) : null);
}
