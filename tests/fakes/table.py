"""The table in memory, for fast tests: the local stack's own, with a log of its calls."""

import weakref

from local.sqlite.calls import Call
from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from skein.models.common.storage import Key
from skein.ports import Clock


class MemoryTable(SqliteTable):
    """A `Table` in memory; safe to use from several threads.

    Args:
        clock: The clock by which items expire; without a clock, no item expires.

    Attributes:
        log: All calls so far, for tests of costs.
        vectors: The vector index of the table.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.log: list[Call] = []
        database = Database()
        weakref.finalize(self, database.close)
        super().__init__(database, clock, called=self._log)
        self.vectors = SqliteVectors(self._database, clock, called=self._log)

    def _log(self, call: Call) -> None:
        self.log.append(call)

    def all_stored(self) -> dict[Key, str]:
        """Return each item's stored text by key, expired items included.

        Items with different texts may be equal. Comparing texts is much faster than `all_items`.
        """
        with self._database.reading() as connection:
            rows = connection.execute("SELECT pk, sk, item FROM items ORDER BY pk, sk").fetchall()
        return {Key(pk, sk): text for pk, sk, text in rows}

    def all_keys(self) -> list[Key]:
        """Return the keys of all stored items, in order, expired ones included."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT pk, sk FROM items ORDER BY pk, sk").fetchall()
        return [Key(*row) for row in rows]

    def copy(self, other: "MemoryTable") -> None:
        """Replace all items by those of another table."""
        with other._database.reading() as source, self._database.reading() as target:
            source.backup(target)
        self.vectors.forget()
