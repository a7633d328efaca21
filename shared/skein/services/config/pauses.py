"""Decide whether work is paused, and begin and end the pauses of tenants."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from skein.models.common.storage import Item, Key, Missing, Put
from skein.models.config.overrides import StackSettings, TenantSettings
from skein.models.config.pauses import NO_PAUSES, PauseKind, Pauses
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise

logger = logging.getLogger(__name__)


def keys_of_pauses(tenant: str, reader: str) -> tuple[Key, Key]:
    """Return the keys of the items with the pauses of a tenant and of the whole stack.

    Args:
        reader: The id of what may be paused, e.g. a run's id. The stack's item has several copies,
            and the id selects one of them.
    """
    return TenantSettings.key_of(tenant), StackSettings.key_for(reader)


def is_paused(kind: PauseKind, tenant: str, reader: str, found: Mapping[Key, Item | None]) -> bool:
    """Return whether the tenant or the stack has paused a kind of work.

    Args:
        reader: The id that was passed to `keys_of_pauses`.
        found: The items under `keys_of_pauses`; a missing item means that nothing is paused.
    """
    items = (found.get(key) for key in keys_of_pauses(tenant, reader))
    return any(pauses_of(item).pauses(kind) for item in items if item and item.get("pauses"))


def pauses_of(item: Item | None) -> Pauses:
    """Return the pauses in an item with the settings of a tenant or the stack."""
    known = item.get("pauses") if item is not None else None
    return Pauses.from_item(known) if known else NO_PAUSES


@dataclass(frozen=True, slots=True)
class PauseReader:
    """Reads the pauses of each tenant once, and remembers them (thread-safe)."""

    table: Table
    known: dict[str, Mapping[Key, Item]] = field(default_factory=dict)

    def is_paused(self, kind: PauseKind, tenant: str) -> bool:
        """Return whether the tenant or the stack has paused a kind of work."""
        if tenant not in self.known:
            self.known[tenant] = self.table.get_many(keys_of_pauses(tenant, tenant))
        return is_paused(kind, tenant, tenant, self.known[tenant])


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantPauses:
    """The service that pauses and resumes the work of a tenant."""

    table: Table
    clock: Clock

    def get(self, tenant: str) -> tuple[Pauses, Pauses]:
        """Return the pauses of a tenant and the pauses of the stack."""
        tenants, stacks = keys_of_pauses(tenant, tenant)
        found = self.table.get_many([tenants, stacks])
        return pauses_of(found.get(tenants)), pauses_of(found.get(stacks))

    def switch(self, tenant: str, kind: PauseKind, *, on: bool) -> None:
        """Begin or end a pause of a tenant (idempotent).

        After a pause, the tick resumes the work.

        Raises:
            Contention: 20 tries failed.
        """
        optimistic(self.clock, lambda: self._switch_once(tenant, kind, on=on))
        logger.warning(
            "pause %s", "begun" if on else "ended", extra={"tenant": tenant, "pause": kind}
        )

    def _switch_once(self, tenant: str, kind: PauseKind, *, on: bool) -> None:
        now, key = self.clock.now(), TenantSettings.key_of(tenant)
        known = TenantSettings.read(self.table, key)
        if known is None:
            pauses = NO_PAUSES.with_pause(kind, on=on, now=now)
            if pauses == NO_PAUSES:
                return
            first = TenantSettings(tenant=tenant, pauses=pauses, changed_at=now)
            due = pauses.due(first.key, now)
            self.table.write(Put(first.key, first.to_item() | due, Missing()))
            return
        pauses = known.pauses.with_pause(kind, on=on, now=now)
        if pauses == known.pauses:
            return
        change = {"pauses": pauses, "changed_at": now}
        _, write = revise(known, change, also=pauses.due(known.key, now))
        self.table.write(write)
