"""Erase a person from sharing rules, and from the roles of others."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from skein.models.common.storage import Update
from skein.models.config.sharing import (
    RulesVersion,
    SharingRule,
    SharingRules,
)
from skein.models.directory.user import User, users_relation
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import items_under, pages_of_relation
from skein.services.config.rule_versions import rules_asked_again

NOBODY = "erased"  # who made a version, once that person is erased

People = frozenset[str]


def erase_from_sharing(table: Table, clock: Clock, tenant: str, people: People) -> Iterator[str]:
    """Remove the rules that name a person, and the roles of others that are about them.

    Yields the id of each thing that changes (idempotent). Runs that were told words by such a rule
    build their prompts again before they post.
    """
    if optimistic(clock, partial(_erase_rules, table, tenant, people)):
        yield "rules"
    for item in items_under(table, RulesVersion.partition_of(tenant), RulesVersion.PREFIX):
        version = RulesVersion.from_item(item)
        kept = version.model_copy(update=_without(version, people))
        if kept != version:
            stored = kept.attributes()
            change = {name: stored[name] for name in ("rules", "changed_by")}
            table.write(Update(version.key, set=change))
            yield f"version {version.version}"
    for rows in pages_of_relation(table, users_relation(tenant)):
        for row in rows:
            if optimistic(clock, partial(_erase_roles, table, tenant, str(row["gsi1sk"]), people)):
                yield f"roles {row['gsi1sk']}"


def _erase_rules(table: Table, tenant: str, people: People) -> bool:
    """Remove the rules that name a person; return whether there were any."""
    item = table.get(SharingRules.key_of(tenant))
    if item is None:
        return False
    known = SharingRules.from_item(item)
    changes = _without(known, people) | {"ended": _not_naming(known.ended, people)}
    if known.model_copy(update=changes) == known:
        return False
    _, write = revise(known, changes)
    table.write(replace(write, add={"epoch": 1}))
    return True


def _erase_roles(table: Table, tenant: str, user_id: str, people: People) -> bool:
    """Remove the roles of one person that are about an erased one; return whether there were."""
    item = table.get(User.key_of(tenant, user_id))
    user = User.from_item(item) if item is not None else None
    if user is None or not any(held.subject in people for held in user.roles):
        return False
    left = tuple(held for held in user.roles if held.subject not in people)
    table.transact([revise(user, {"roles": left})[1], *rules_asked_again(table, tenant)])
    return True


def _without(known: SharingRules | RulesVersion, people: People) -> dict[str, object]:
    """Return what of the rules changes: those that name nobody of these people stay."""
    by = NOBODY if known.changed_by in people else known.changed_by
    return {"rules": _not_naming(known.rules, people), "changed_by": by}


def _not_naming(rules: tuple[SharingRule, ...], people: People) -> tuple[SharingRule, ...]:
    return tuple(rule for rule in rules if people.isdisjoint({rule.from_.user_id, rule.to.user_id}))
