"""Keep the settings of the whole stack: roll-out shares and switches."""

from dataclasses import dataclass

from skein.models.common.storage import Is, Missing, Put
from skein.models.config.overrides import (
    STACK_COPIES,
    StackOverrides,
    StackOverridesChange,
    StackSettings,
)
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSettingsService:
    """The service that keeps the stack's settings, in copies that change together."""

    table: Table
    clock: Clock

    def get(self) -> StackOverrides:
        """Return the settings of the stack."""
        return StackSettings.from_optional(self.table.get(StackSettings.key_of(0)))

    def change(self, change: StackOverridesChange) -> StackOverrides:
        """Change all copies in one transaction (optimistic lock).

        Raises:
            Contention: 20 tries failed.
        """
        return optimistic(self.clock, lambda: self._change_once(change))

    def _change_once(self, change: StackOverridesChange) -> StackOverrides:
        item = self.table.get(StackSettings.key_of(0))
        before = StackSettings.from_item(item) if item is not None else None
        after = change.applied_to(before.settings if before else StackOverrides())
        version, now = before.version if before else 0, self.clock.now()
        unchanged = Is("version", version) if before else Missing()
        copies = (
            StackSettings(copy_number=number, settings=after, version=version + 1, changed_at=now)
            for number in range(STACK_COPIES)
        )
        self.table.transact([Put(copy.key, copy.to_item(), unchanged) for copy in copies])
        return after
