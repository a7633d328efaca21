"""Keep the settings and pauses of the whole stack."""

import logging
from dataclasses import dataclass

from skein.models.common.storage import Is, Missing, Put
from skein.models.config.overrides import (
    STACK_COPIES,
    Overrides,
    StackOverridesChange,
    StackSettings,
)
from skein.models.config.pauses import NO_PAUSES, PauseKind, Pauses
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSettingsService:
    """The service that stores several copies of the stack's settings and changes all together."""

    table: Table
    clock: Clock

    def get(self) -> Overrides:
        return StackSettings.from_optional(self.table.get(StackSettings.key_of(0)))

    def change(self, change: StackOverridesChange) -> Overrides:
        """Change all copies of the stack's settings in one transaction (optimistic lock).

        Raises:
            Contention: 20 tries failed.
        """
        return optimistic(self.clock, lambda: self._change_once(change)).settings

    def pauses(self) -> Pauses:
        stack_settings = StackSettings.read(self.table, StackSettings.key_of(0))
        return stack_settings.pauses if stack_settings is not None else NO_PAUSES

    def switch(self, kind: PauseKind, *, on: bool) -> Pauses:
        """Begin or end a pause of the whole stack (idempotent).

        Raises:
            Contention: 20 tries failed.
        """
        after = optimistic(self.clock, lambda: self._change_once(switch=(kind, on)))
        logger.warning(
            "pause %s", "begun" if on else "ended", extra={"tenant": "all tenants", "pause": kind}
        )
        return after.pauses

    def _change_once(
        self,
        change: StackOverridesChange | None = None,
        switch: tuple[PauseKind, bool] | None = None,
    ) -> StackSettings:
        known, now = StackSettings.read(self.table, StackSettings.key_of(0)), self.clock.now()
        before = known or StackSettings(copy_number=0, version=0, changed_at=now)
        settings = before.settings if change is None else change.applied_to(before.settings)
        pauses = before.pauses
        if switch is not None:
            kind, on = switch
            pauses = pauses.with_pause(kind, on=on, now=now)
        after = before.model_copy(
            update={
                "settings": settings,
                "pauses": pauses,
                "version": before.version + 1,
                "changed_at": now,
            }
        )
        unchanged = Is("version", before.version) if known is not None else Missing()
        copies = [after.model_copy(update={"copy_number": n}) for n in range(STACK_COPIES)]
        self.table.transact([Put(copy.key, copy.to_item(), unchanged) for copy in copies])
        return after
