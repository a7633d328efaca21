"""Keep the settings of tenants: one item per tenant, changed field by field."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skein.errors import Forbidden
from skein.models.common.storage import Missing, Put
from skein.models.config.overrides import (
    NO_OVERRIDES,
    Overrides,
    TenantOnlySettings,
    TenantOverridesChange,
    TenantSettings,
)
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise

NO_READING = "the tenant forbids operators to read chats (the setting operators_read_chats)"


def reading_allowed(overrides: Overrides) -> bool:
    return TenantOnlySettings.model_validate(overrides).operators_read_chats


def check_reading(overrides: Overrides) -> None:
    """Check that a tenant's operators may read chats.

    Raises:
        Forbidden: The tenant forbids operators to read chats.
    """
    if not reading_allowed(overrides):
        raise Forbidden(NO_READING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSettingsService:
    """The service that keeps tenants' settings."""

    table: Table
    clock: Clock

    def get(self, tenant: str) -> Overrides:
        """Return the values that a tenant has set."""
        return TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))

    def check_reading(self, tenant: str) -> None:
        """Check that operators of a tenant may read chats.

        Raises:
            Forbidden: The tenant forbids operators to read chats.
        """
        check_reading(self.get(tenant))

    def reading(self, tenant: str) -> tuple[bool, datetime | None]:
        """Return whether operators may read chats, and when this setting last changed, if ever."""
        known = TenantSettings.read(self.table, TenantSettings.key_of(tenant))
        if known is None:
            return reading_allowed({}), None
        return reading_allowed(known.settings), known.reading_changed_at

    def change(self, tenant: str, change: TenantOverridesChange) -> Overrides:
        """Change some fields of a tenant's settings; the value None removes a field."""
        return optimistic(self.clock, lambda: self._change_once(tenant, change))

    def _change_once(self, tenant: str, change: TenantOverridesChange) -> Overrides:
        known = TenantSettings.read(self.table, TenantSettings.key_of(tenant))
        before = known.settings if known is not None else NO_OVERRIDES
        after = change.applied_to(before)
        if after == before:
            return after
        now = self.clock.now()
        changes: dict[str, Any] = {"settings": after, "changed_at": now}
        if reading_allowed(after) != reading_allowed(before):
            changes["reading_changed_at"] = now
        if known is None:
            first = TenantSettings(tenant=tenant, **changes)
            self.table.write(Put(first.key, first.to_item(), Missing()))
        else:
            _, write = revise(known, changes)
            self.table.write(write)
        return after
