"""Add a write to the transaction of a service, without changing the service.

The services of an app get the table as a `JointTable`. An object that a caller puts into `joining`
sees each transaction before it is carried out, and may add one write.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from skein.errors import ConditionFailed, SkeinError
from skein.models.common.storage import Item, Key, Page, Query, Write
from skein.ports import Table


class Joining(Protocol):
    """An object that adds one write to the next suitable transaction."""

    def beside(self, writes: Sequence[Write]) -> Write | None:
        """Return the write to add to the transaction of `writes`; None to add no write."""

    def joined(self) -> None:
        """Remember that the transaction with the write was carried out."""

    def refused(self) -> SkeinError:
        """Return the error to raise if the condition of the write does not hold."""


joining: ContextVar[Joining | None] = ContextVar("joining", default=None)


@dataclass(frozen=True, slots=True)
class JointTable:
    """A table that lets the object in `joining` add a write to each transaction."""

    table: Table

    def get(self, key: Key) -> Item | None:
        return self.table.get(key)

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        return self.table.get_many(keys, consistent=consistent)

    def query(self, query: Query) -> Page:
        return self.table.query(query)

    def write(self, write: Write) -> None:
        self._write((write,), lambda: self.table.write(write))

    def transact(self, writes: Sequence[Write]) -> None:
        self._write(writes, lambda: self.table.transact(writes))

    def _write(self, writes: Sequence[Write], as_given: Callable[[], None]) -> None:
        waiting = joining.get()
        joint = waiting.beside(writes) if waiting is not None else None
        if waiting is None or joint is None:
            as_given()
            return
        try:
            self.table.transact([*writes, joint])
        except ConditionFailed as failure:
            if len(writes) in failure.failed:
                raise waiting.refused() from failure
            raise
        waiting.joined()
