// The people of a case, beside its chat.
import { el } from "../dom.js";
import { card, facts, part } from "../parts.js";
import { words } from "../words.js";

const MOST = 4;
const said = words.pages.people;

/** Cards of people, each with what their record says. */
export async function peopleCards(api, ids) {
  const found = await Promise.all(ids.slice(0, MOST).map((id) => api.get(`/v1/users/${part(id)}`).catch(() => null)));
  return found.filter((user) => user !== null).map(personCard);
}

function personCard(user) {
  const quiet = user.quiet_hours === null ? null : said.hours(user.quiet_hours.from, user.quiet_hours.to);
  const roles = user.roles.map((each) => each.role).join(", ");
  const known = [[said.phones, user.phones.join(", ")], [said.zone, user.time_zone], [said.quiet, quiet], [said.roles, roles]];
  return card(user.name || words.names.unnamed, known.some(([, value]) => value) ? facts(known) : null,
    el("p", {}, el("a", { href: `#/people/${part(user.id)}` }, words.pages.desk.toPerson)));
}
