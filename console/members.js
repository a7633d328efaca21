// The members of a chat with their roles, and what the person may change about them.
import { el, field, select } from "./dom.js";
import { action, form, lazy, outcome, part } from "./parts.js";
import { words } from "./words.js";

const said = words.pages.chats;

/**
 * @param {Api} api The API of the person.
 * @param {object} chat The chat.
 * @param {string} me The id of the person.
 * @param {function} changed Called with the chat after a change.
 * @param {boolean} open Whether the list is unfolded.
 * @param {(() => Promise<object[]>)|null} offered Returns whom an owner may add, as `kind`, `id` and `name`;
 *   null for a person who may add nobody here.
 */
export function members(api, chat, me, changed, open, offered = null) {
  const place = outcome(), path = `/v1/chats/${part(chat.id)}`;
  const inside = chat.members.filter((member) => member.state === "member");
  const owns = inside.some((member) => member.id === me && member.role === "owner");
  const group = chat.kind === "group" && chat.discarded_at === null;

  async function reread() { changed(await api.get(path)); }

  function row(member) {
    const name = member.name || words.names.unnamed, own = member.kind === "user" && member.id === me;
    const of = `${path}/members/${member.kind}/${part(member.id)}`;
    const role = member.role === "owner" ? "member" : "owner";
    return el("li", {},
      own ? said.you(name) : name, " ", el("span", { class: "badge" }, said.roles[member.role]), " ",
      group && owns && member.kind === "user"
        ? action(role === "owner" ? said.makeOwner : said.takeRole, async () => {
          await api.patch(of, { role });
          await reread();
        }, place, { "aria-label": role === "owner" ? said.makeOwnerOf(name) : said.takeRoleOf(name) }) : null,
      group && owns && !own
        ? action(said.remove, async () => {
          await api.delete(of);
          await reread();
        }, place, { "aria-label": said.removeOne(name) }) : null,
      group && own
        ? action(said.leave, async () => {
          await api.delete(of);
          location.hash = "#/chats";
        }, place) : null);
  }

  async function adding() {
    const known = new Set(chat.members.map((member) => member.id));
    const others = (await offered()).filter((each) => !known.has(each.id));
    if (others.length === 0) return el("p", { class: "empty" }, said.nobodyNew);
    const chosen = select(others.map((each) => [`${each.kind}/${part(each.id)}`, each.name || words.names.unnamed]), null, () => {});
    return form([field(said.newMember, chosen)], said.addNow, async () => {
      await api.call("PUT", `${path}/members/${chosen.value}`, {});
      await reread();
    });
  }

  return el("details", { class: "members", open },
    el("summary", {}, said.members(inside.length)),
    el("ul", { class: "items" }, inside.map(row)),
    inside.some((member) => member.role === "owner") ? null : el("p", { class: "hint" }, said.noOwner),
    group && owns && offered !== null ? lazy(said.add, adding) : null,
    place);
}
