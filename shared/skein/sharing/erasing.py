"""Erase a person from sharing rules, and from other people's roles."""

from collections.abc import Iterator
from functools import partial

from skein.models.common.storage import Item, Update
from skein.models.directory.user import User, users_relation
from skein.models.visibility.sharing_rules import RulesVersion, SharingRules
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import items_under, pages_of_relation

NOBODY = "erased"  # replaces the author of a version, once that person is erased

People = frozenset[str]


def erase_from_sharing(table: Table, clock: Clock, tenant: str, people: People) -> Iterator[str]:
    """Remove people's names from sharing rules, and others' roles that refer to these people.

    Only Skein 0.3.0 stored rules that name a person. These rules have no effect any more, and all
    of them are removed. Yields the id of each item that changes (idempotent).
    """
    if optimistic(clock, partial(_erase_rules, table, tenant, people)):
        yield "rules"
    for item in items_under(table, RulesVersion.partition_of(tenant), RulesVersion.PREFIX):
        version = RulesVersion.from_item(item)
        if change := _erased(item, version, people):
            table.write(Update(version.key, set=change))
            yield f"version {version.version}"
    for rows in pages_of_relation(table, users_relation(tenant)):
        for row in rows:
            if optimistic(clock, partial(_erase_roles, table, tenant, str(row["gsi1sk"]), people)):
                yield f"roles {row['gsi1sk']}"


def _erase_rules(table: Table, tenant: str, people: People) -> bool:
    """Remove the names of people from the rules; return whether there were any."""
    item = table.get(SharingRules.key_of(tenant))
    if item is None:
        return False
    known = SharingRules.from_item(item)
    if change := _erased(item, known, people):
        table.write(revise(known, {}, also=change)[1])
    return bool(change)


def _erase_roles(table: Table, tenant: str, user_id: str, people: People) -> bool:
    """Remove a person's roles that refer to the erased person; return whether there were any."""
    user = User.read(table, User.key_of(tenant, user_id))
    left = tuple(held for held in user.roles if held.subject not in people) if user else ()
    if user is None or left == user.roles:
        return False
    table.write(revise(user, {"roles": left} | user.next_sharing)[1])
    return True


def _erased(item: Item, known: SharingRules | RulesVersion, people: People) -> dict[str, object]:
    """Return the attributes to change: the rules without erased names, and the version's author."""
    by = NOBODY if known.changed_by in people else known.changed_by
    wanted = known.attributes() | {"changed_by": by}
    return {
        name: wanted[name]
        for name in ("rules", "ended", "changed_by")
        if name in wanted and wanted[name] != item.get(name)
    }
