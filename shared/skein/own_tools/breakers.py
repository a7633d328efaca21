"""Call services through circuit breakers that all workers share.

A breaker is read together with its tool. It is written only if a call fails, if a call probes
whether the service works again, or if a call ends an outage. A working service therefore costs no
extra database request, and workers do not call a service that is known to fail.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from skein.errors import Ambiguous, CircuitOpen, ConditionFailed, SkeinError
from skein.models.common.breaker import CLOSED, WINDOW, Breaker
from skein.models.common.storage import Delete, Key, Put, Write, at_version
from skein.own_tools.models.breaker import ToolBreaker
from skein.ports import Clock, Metrics, Table
from skein.services.common.circuit_breaker import FAILURES
from skein.services.common.optimistic import optimistic

PROBE = timedelta(minutes=2)  # a worker's time limit; after that, a probe counts as lost

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBreakers:
    """The service that guards calls of tools by their circuit breakers.

    Attributes:
        failed_at: The time of the last failed call in this container, by the key of the breaker. A
            breaker with a recent entry is read again, because the copy that was read with the tool
            may be older than the failure.
    """

    table: Table
    clock: Clock
    metrics: Metrics
    failed_at: dict[Key, datetime] = field(default_factory=dict)

    def call(self, known: ToolBreaker, function: Callable[[], T]) -> T:
        """Call `function`, unless the breaker is open.

        Exceptions of `function` propagate. The exceptions in `FAILURES` count as failures of the
        service. Any other `SkeinError` counts as a success, because the service has answered. The
        breaker ignores all other exceptions, except that they end a probe.

        Args:
            known: The breaker, as it was read with the tool.

        Raises:
            CircuitOpen: The breaker is open; `function` was not called.
        """
        probed = self._entered(known)
        try:
            result = function()
        except FAILURES:
            self.failed_at[known.key] = self.clock.now()
            self._record(probed, lambda each: each.failed(self.clock.now()))
            raise
        except SkeinError:
            self._succeeded(probed)
            raise
        except Exception:
            if probed.breaker.probing:
                self._record(probed, lambda each: each.unprobed(self.clock.now()))
            raise
        self._succeeded(probed)
        return result

    def _again(self, known: ToolBreaker) -> ToolBreaker:
        return ToolBreaker.from_optional(self.table.get(known.key), known.tenant, known.service)

    def _entered(self, known: ToolBreaker) -> ToolBreaker:
        """Let a call through; if the breaker is half open, the call is its probe.

        Raises:
            CircuitOpen: The breaker is open, or another worker is probing.
        """
        now = self.clock.now()
        failed_at = self.failed_at.get(known.key)
        if failed_at is not None and now - failed_at < WINDOW:
            known = self._again(known)
        state = known.breaker.state(now)
        if state == "closed":
            return known
        if state == "open":
            raise CircuitOpen(f"tool {known.service}")
        probed, write = self._changed(known, known.breaker.probed(now + PROBE))
        try:
            self.table.write(write)
        except (ConditionFailed, Ambiguous):
            raise CircuitOpen(f"tool {known.service}") from None
        return probed

    def _succeeded(self, known: ToolBreaker) -> None:
        self.failed_at.pop(known.key, None)
        if known.breaker != CLOSED:
            self._record(known, lambda _: CLOSED)

    def _record(self, known: ToolBreaker, change: Callable[[Breaker], Breaker]) -> None:
        """Record the outcome of a call in the breaker; a failed write does not affect the call."""
        try:
            opened = optimistic(self.clock, lambda: self._recorded(known, change))
        except SkeinError as error:
            logger.warning("breaker not written", extra={"tool": known.service}, exc_info=error)
            return
        if opened:
            named = {"tenant": known.tenant, "tool": known.service}
            logger.warning("circuit breaker of a tool opened", extra=named)
            self.metrics.count("CircuitsOpened")

    def _recorded(self, known: ToolBreaker, change: Callable[[Breaker], Breaker]) -> bool:
        """Store a changed breaker, and return whether the change opened it."""
        current = self._again(known)
        after = change(current.breaker)
        if after == current.breaker:
            return False
        self.table.write(self._changed(current, after)[1])
        return current.breaker.open_until is None and after.open_until is not None

    def _changed(self, known: ToolBreaker, breaker: Breaker) -> tuple[ToolBreaker, Write]:
        """Return a changed breaker, and the write that stores it (optimistic lock)."""
        unchanged = at_version(known.version)
        changed = known.model_copy(update={"breaker": breaker, "version": known.version + 1})
        if breaker == CLOSED:
            return changed, Delete(known.key, unchanged)
        return changed, Put(changed.key, changed.to_item(), unchanged)
