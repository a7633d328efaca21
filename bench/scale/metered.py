"""A table in memory that charges each call, by partition.

Amazon's engine reports units by table only, not by partition. So this table applies DynamoDB's
rules itself. `tests/contract/test_scale_units.py` compares their sum with the units of the engine.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.scale.units import (
    EVENTUAL,
    TRANSACTION,
    index_writes,
    read_units,
    size_of,
    write_units,
)
from skein.models.common.storage import Check, Item, Key, Page, Query, Write
from skein.models.recall.vector_search import VectorSearch
from skein.ports import Clock
from tests.fakes.table import MemoryTable


@dataclass(frozen=True, slots=True)
class Charge:
    """The units of one call in one partition of the table or an index."""

    operation: str
    partition: str
    reads: float = 0
    writes: float = 0


class MeteredVectors:
    """The `VectorIndex` of a `MeteredTable`.

    Args:
        table: The table in memory, with its vectors.
        charge: Counts a call with its charges.
    """

    def __init__(self, table: MemoryTable, charge: Callable[[str, Iterable[Charge]], None]) -> None:
        self._inner = table.vectors
        self._charge = charge

    def nearest(self, search: VectorSearch) -> list[Item]:
        """See `skein.ports.VectorIndex`."""
        found = self._inner.nearest(search)
        self._charge("nearest", [])
        return found


class MeteredTable:
    """A `Table` in memory.

    Args:
        clock: Decides which items have expired.

    Attributes:
        charges: All charges so far.
        calls: The number of calls, by method.
        stored: The bytes by which the table has grown.
        vectors: The vector index of the table. Its searches count as calls, without units.
    """

    def __init__(self, clock: Clock) -> None:
        self._inner = MemoryTable(clock)
        self.vectors = MeteredVectors(self._inner, self._charge)
        self._lock = threading.Lock()
        self.charges: list[Charge] = []
        self.calls: Counter[str] = Counter()
        self.stored = 0

    def clear(self) -> None:
        """Reset the counts."""
        self.charges, self.calls, self.stored = [], Counter(), 0
        self._inner.log.clear()

    @property
    def reads(self) -> float:
        """The sum of all read units."""
        return sum(charge.reads for charge in self.charges)

    @property
    def writes(self) -> float:
        """The sum of all write units."""
        return sum(charge.writes for charge in self.charges)

    def get(self, key: Key) -> Item | None:
        """See `skein.ports.Table`."""
        found = self._inner.get(key)
        self._charge("get", [Charge("get", key.pk, reads=read_units(size_of(found)))])
        return found

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `skein.ports.Table`."""
        found = self._inner.get_many(keys)
        each = (
            Charge("get_many", key.pk, reads=read_units(size_of(found.get(key))))
            for key in dict.fromkeys(keys)
        )
        if keys:
            self._charge("get_many", each)
        return found

    def query(self, query: Query) -> Page:
        """See `skein.ports.Table`."""
        page = self._inner.query(query)
        units = read_units(sum(map(size_of, page.items)))
        if query.index is None:
            self._charge("query", [Charge("query", query.pk, reads=units)])
        else:
            charge = Charge("query_index", query.pk, reads=EVENTUAL * units)
            self._charge("query_index", [charge])
        return page

    def write(self, write: Write) -> None:
        """See `skein.ports.Table`."""
        with self._lock:  # so that no other write changes the item in between
            before = self._inner.get_many([write.key])
            try:
                self._inner.write(write)
            finally:
                self._charge("write", self._written("write", [write], before, 1))

    def transact(self, writes: Sequence[Write]) -> None:
        """See `skein.ports.Table`."""
        with self._lock:
            before = self._inner.get_many([write.key for write in writes])
            try:
                self._inner.transact(writes)
            finally:
                if writes:
                    charged = self._written("transact", writes, before, TRANSACTION)
                    self._charge("transact", charged)

    def _written(
        self, operation: str, writes: Sequence[Write], before: dict[Key, Item], times: int
    ) -> list[Charge]:
        after = self._inner.get_many([write.key for write in writes])
        charged = []
        for write in writes:
            was, now = before.get(write.key), after.get(write.key)
            units = times * write_units(size_of(was), size_of(now))
            charged.append(Charge(operation, write.key.pk, writes=units))
            if not isinstance(write, Check):
                self.stored += size_of(now) - size_of(was)
                charged += [Charge(operation, pk, writes=n) for pk, n in index_writes(was, now)]
        return charged

    def _charge(self, method: str, charges: Iterable[Charge]) -> None:
        self.calls[method] += 1
        self.charges.extend(charges)
