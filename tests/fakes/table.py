"""The table in memory, for fast tests: the local stack's own, with a log of its calls."""

import re
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from sqlite3 import Connection

from local.sqlite.database import SCHEMA, Database
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from skein.adapters.aws.rules import INDEXES
from skein.adapters.dynamodb.attributes import StoredItem
from skein.adapters.sqlite_table import database
from skein.adapters.sqlite_table.calls import Call
from skein.models.common.storage import Item, Key, Query, Write
from skein.models.outbox.due import due_before
from skein.ports import Clock

TABLES = (*re.findall(r"CREATE TABLE (\w+)", SCHEMA), "sqlite_sequence")
ROWS = (
    "WITH wanted(pk, sk) AS (VALUES {})"
    " SELECT pk, sk, size, item, expires_at FROM wanted CROSS JOIN items USING (pk, sk)"
)
DUE = "SELECT 1 FROM items WHERE gsi2pk IS NOT NULL AND gsi2sk < ? LIMIT 1"
INDEXED = " UNION ".join(
    f"SELECT {pk} FROM items WHERE {pk} IS NOT NULL AND {sk} IS NOT NULL"
    for pk, sk in INDEXES.values()
)
Row = tuple[int, str, float | None]
UNREAD: Row = (0, "", None)
Changed = Callable[[Mapping[Key, StoredItem | None], Mapping[Key, StoredItem | None], bool], None]
# Databases of tables that are gone. To empty one is 30 times faster than to create one, and a world
# has three.
_spare: list[Database] = []
_without_rows = Database()
# Beyond this, to delete all rows takes longer than to copy a database without rows. After a copy,
# the schema is read again.
MANY_PAGES = 100


def _empty_database() -> Database:
    """Return a database in memory without rows."""
    try:
        spare = _spare.pop()
    except IndexError:
        return Database()
    if spare.pages > MANY_PAGES:
        _copy(_without_rows, spare)
        return spare
    with spare.writing() as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM {table}")
    return spare


def _copy(source: database.Database, target: database.Database) -> None:
    with source.reading() as read, target.reading() as replaced:
        read.backup(replaced)


class MemoryTable(SqliteTable):
    """A `Table` in memory; safe to use from several threads.

    Args:
        clock: The clock by which items expire; without a clock, no item expires.

    Attributes:
        vectors: The vector index of the table.
        changes: How often something was written so far; deleting expired items and copying count.
        touched: The keys of the items that were written or deleted since the last `copy`, in order.
        changed: Called with the items before and after each transaction, and whether they expired.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        empty = _empty_database()
        weakref.finalize(self, _spare.append, empty)
        super().__init__(empty, clock)
        self.vectors = SqliteVectors(empty, clock)
        self.changes = 0
        self.touched: dict[Key, None] = {}
        self.changed: Changed | None = None
        self._rows: dict[Key, Row | None] = {}
        self._indexed: tuple[int, set[str]] = (-1, set())
        self._changed_in: Counter[str] = Counter()
        self._changed_everywhere = 0
        self.log = []

    @property
    def log(self) -> list[Call]:
        """All calls so far, for tests of costs."""
        return self._calls

    @log.setter
    def log(self, calls: list[Call]) -> None:
        self._calls = calls
        # No method of this table: it would keep the table, and so its database, in a circle.
        self._called = self.vectors._called = calls.append

    def changes_in(self, pk: str) -> tuple[int, int]:
        """A value that changes whenever an item of a partition may have changed."""
        return self._changed_everywhere, self._changed_in[pk]

    def delete_expired(self) -> None:
        """See `SqliteTable`."""
        super().delete_expired()
        self._all_changed()

    def _carry_out(self, method: str, writes: Sequence[Write]) -> None:
        try:
            super()._carry_out(method, writes)
        finally:  # who listens to changes may fail when they are written
            self.changes += 1
            for write in writes:
                self._changed_in[write.key.pk] += 1
                self._rows.pop(write.key, None)

    def _written(
        self,
        connection: Connection,
        before: Mapping[Key, StoredItem | None],
        after: Mapping[Key, StoredItem | None],
        *,
        expired: bool = False,
    ) -> bool:
        self.touched |= dict.fromkeys(after)
        written = super()._written(connection, before, after, expired=expired)
        if self.changed is not None:
            self.changed(before, after, expired)
        return written

    def _living(self, keys: Sequence[Key]) -> list[tuple[int, str]]:
        """See `SqliteTable`; a row is read again only if it was written."""
        now, rows = self._now(), self._rows_of(keys)
        return [row[:2] for row in rows if row and (row[2] is None or row[2] > now)]

    def _rows_of(self, keys: Sequence[Key]) -> list[Row | None]:
        """Return the row of each key; None if there is none."""
        rows = {key: self._rows.get(key, UNREAD) for key in keys}
        if new := [key for key, row in rows.items() if row is UNREAD]:
            wanted = ", ".join(["(?, ?)"] * len(new))
            with self._database.reading() as connection:  # nobody else writes meanwhile
                found = connection.execute(ROWS.format(wanted), [*chain(*new)])
                read = dict.fromkeys(new) | {Key(pk, sk): (*row,) for pk, sk, *row in found}
                self._rows |= read
            rows |= read
        return [*rows.values()]

    def _query_index(self, query: Query) -> list[tuple[int, Item]]:
        """See `SqliteTable`; a tick asks for dozens of partitions that are empty."""
        as_of, found = self._indexed
        if as_of != self.changes:
            as_of = self.changes
            with self._database.reading() as connection:
                found = {pk for (pk,) in connection.execute(INDEXED)}
            self._indexed = as_of, found
        return super()._query_index(query) if query.pk in found else []

    def has_due(self, now: datetime) -> bool:
        """Return whether an item of the due index is due."""
        with self._database.reading() as connection:
            return connection.execute(DUE, [due_before(now)]).fetchone() is not None

    def _all_changed(self) -> None:
        self._rows.clear()
        self.changes += 1
        self._changed_everywhere += 1

    def all_stored(self) -> dict[Key, str]:
        """Return each item's stored text by key, expired items included.

        Items with different texts may be equal. Comparing texts is much faster than `all_items`.
        """
        with self._database.reading() as connection:
            rows = connection.execute("SELECT pk, sk, item FROM items ORDER BY pk, sk").fetchall()
        return {Key(pk, sk): text for pk, sk, text in rows}

    def all_touched(self) -> dict[Key, str | None]:
        """Return the stored texts of the items in `touched`, in order; None if one is deleted."""
        keys = sorted(self.touched)
        return {key: row and row[1] for key, row in zip(keys, self._rows_of(keys), strict=True)}

    def all_keys(self) -> list[Key]:
        """Return the keys of all stored items, in order, expired ones included."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT pk, sk FROM items ORDER BY pk, sk").fetchall()
        return [Key(*row) for row in rows]

    def copy(self, other: "MemoryTable") -> None:
        """Replace all items by those of another table."""
        _copy(other._database, self._database)
        self.vectors.forget()
        self._all_changed()
        self.touched.clear()
