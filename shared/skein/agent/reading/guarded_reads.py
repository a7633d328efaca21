"""Table with a circuit breaker around the reads from which prompts are built.

If these reads fail or are slow, an agent can answer with a degraded context. Other reads decide
whether an action is allowed, so they do not go through a circuit breaker.
"""

from collections.abc import Sequence

from skein.interface.reading import READ_SECONDS
from skein.models.common.storage import Item, Key, Page, Query, Write
from skein.ports import Clock, Metrics, Table
from skein.services.common.circuit_breaker import CircuitBreaker


class GuardedReads:
    """A table whose reads go through a circuit breaker; writes bypass the breaker."""

    def __init__(self, *, table: Table, clock: Clock, metrics: Metrics) -> None:
        self._table = table
        self._breaker = CircuitBreaker(
            "table reads", clock=clock, metrics=metrics, slow_seconds=READ_SECONDS
        )

    def get(self, key: Key) -> Item | None:
        return self._breaker.call(lambda: self._table.get(key))

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        return self._breaker.call(lambda: self._table.get_many(keys, consistent=consistent))

    def query(self, query: Query) -> Page:
        return self._breaker.call(lambda: self._table.query(query))

    def write(self, write: Write) -> None:
        self._table.write(write)

    def transact(self, writes: Sequence[Write]) -> None:
        self._table.transact(writes)
