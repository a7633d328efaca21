"""The vector index on SQLite: a table of vectors beside the items, searched by cosine distance.

A transaction that writes an item also updates this side table. When a process has searched a
partition, it keeps the partition's vectors in memory, and from then on reads only changes.
"""

import heapq
import math
import sqlite3
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from simsimd import cdist

from local.sqlite.database import Database
from skein.adapters.aws.rules import VECTORS, check_search
from skein.adapters.dynamodb.attributes import StoredItem, unmarshal_item
from skein.adapters.sqlite_table.calls import Call
from skein.adapters.sqlite_table.items import from_text
from skein.models.common.storage import Item, Key
from skein.models.common.vector_search import DIMENSIONS, DISTANCE, VectorSearch
from skein.ports import Clock

COMPONENT_BYTES = 4
VECTOR_BYTES = DIMENSIONS * COMPONENT_BYTES
MAX_CACHED_VECTORS = 200_000  # 200 MB

ADD = (
    "INSERT OR REPLACE INTO vectors (partition, model, pk, sk, author, month, vector)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
MARK_CHANGED = (
    "INSERT INTO vector_partitions VALUES (?, ?, random(), random())"
    " ON CONFLICT DO UPDATE SET changed = random()"
)
MARK_REMOVED = (
    "UPDATE vector_partitions SET changed = random(), removed = random()"
    " WHERE partition = ? AND model = ?"
)
MARKS = "SELECT changed, removed FROM vector_partitions WHERE partition = ? AND model = ?"
NEW_ROWS = (
    "SELECT id, pk, sk, author, month, vector FROM vectors"
    " WHERE partition = ? AND model = ? AND id > ? ORDER BY id"
)
LIVING_ITEM = (
    "SELECT size, item FROM items"
    " WHERE pk = ? AND sk = ? AND (expires_at IS NULL OR expires_at > ?)"
)


class _Row(NamedTuple):
    """A row of the side table, for one item."""

    partition: str
    model: str
    author: str
    month: str
    vector: bytes


def write_vector(
    connection: sqlite3.Connection, key: Key, before: StoredItem | None, after: StoredItem | None
) -> None:
    """Update the side table for an item that is written, in the same transaction.

    Raises:
        ValueError: The vector does not have the number of dimensions that the index has.
    """
    old, new = _row(before), _row(after)
    if old == new:
        return
    if old is not None and (new is None or old[:2] != new[:2]):
        connection.execute("DELETE FROM vectors WHERE pk = ? AND sk = ?", key)
        connection.execute(MARK_REMOVED, old[:2])
    if new is not None:
        connection.execute(ADD, [*new[:2], *key, *new[2:]])
        connection.execute(MARK_CHANGED, new[:2])


def _row(item: StoredItem | None) -> _Row | None:
    if item is None or VECTORS.vector not in item or VECTORS.partition not in item:
        return None
    vector = array("f", (float(component["N"]) for component in item[VECTORS.vector]["L"]))
    if len(vector) != DIMENSIONS:
        raise ValueError(f"a vector needs {DIMENSIONS} dimensions, not {len(vector)}")
    return _Row(
        item[VECTORS.partition]["S"],
        item[VECTORS.model]["S"],
        item[VECTORS.author]["S"],
        item[VECTORS.month]["S"],
        vector.tobytes(),
    )


class _Partition:
    """The vectors of one partition and one embedding model, kept in memory."""

    def __init__(self) -> None:
        self.changed: int | None = None
        self._removed: int | None = None
        self._last_id = 0
        self._clear()

    def _clear(self) -> None:
        self._last_id = 0
        self._vectors = bytearray()
        self._keys: list[Key] = []
        self._filters: list[tuple[str, str]] = []
        self._positions: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def refresh(self, connection: sqlite3.Connection, name: tuple[str, str]) -> None:
        """Read what has changed: only new rows, or all rows if some were removed."""
        # The marks are read before the rows, so that a write in between is never missed.
        changed, removed = connection.execute(MARKS, name).fetchone() or (None, None)
        if changed == self.changed:
            return
        if removed != self._removed:
            self._clear()
        for row_id, pk, sk, author, month, vector in connection.execute(
            NEW_ROWS, [*name, self._last_id]
        ):
            self._last_id = row_id
            self._keep(Key(pk, sk), (author, month), vector)
        self.changed, self._removed = changed, removed

    def _keep(self, key: Key, filters: tuple[str, str], vector: bytes) -> None:
        position = self._positions.setdefault(key, len(self._keys))
        if position == len(self._keys):
            self._keys.append(key)
            self._filters.append(filters)
            self._vectors += vector
        else:
            self._filters[position] = filters
            self._vectors[position * VECTOR_BYTES : (position + 1) * VECTOR_BYTES] = vector

    def nearest(self, search: VectorSearch) -> list[tuple[Key, float]]:
        """Return the keys of the nearest vectors with their distances, nearest first."""
        if not self._keys:
            return []
        positions: Sequence[int] = range(len(self._keys))
        if search.author is not None or search.month is not None:
            positions = [
                position
                for position, (author, month) in enumerate(self._filters)
                if search.author in {None, author} and search.month in {None, month}
            ]
        distances = self._distances(search.vector)
        near = heapq.nsmallest(search.limit, positions, key=distances.__getitem__)
        near.sort(key=lambda position: (distances[position], self._keys[position]))
        return [(self._keys[position], distances[position]) for position in near]

    def _distances(self, vector: Sequence[float]) -> list[float]:
        query = memoryview(array("f", vector).tobytes()).cast("f", (1, DIMENSIONS))
        # All views of the vectors must be released, or they could not grow.
        with (
            memoryview(self._vectors) as stored,
            stored.cast("f", (len(self._keys), DIMENSIONS)) as matrix,
        ):
            found: Any = cdist(query, matrix, "cosine")
        rows: Any = memoryview(found).tolist()
        distances: list[float] = rows[0]
        return distances


class SqliteVectors:
    """A `VectorIndex` on SQLite, for several threads and processes.

    A search always finds the newest vectors of the table.

    Args:
        database: The database of the table.
        clock: The clock that decides when items expire. Without a clock, items never expire.
        called: Called after each search, with a record of the search.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock | None = None,
        *,
        called: Callable[[Call], None] = lambda _: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._called = called
        self._lock = threading.Lock()
        self._partitions: OrderedDict[tuple[str, str], _Partition] = OrderedDict()

    def nearest(self, search: VectorSearch) -> list[Item]:
        check_search(search)
        now = -math.inf if self._clock is None else self._clock.now().timestamp()
        with self._database.reading() as connection:
            with self._lock:
                near = self._partition(connection, search).nearest(search)
            rows = [connection.execute(LIVING_ITEM, [*key, now]).fetchone() for key, _ in near]
        pairs = zip(rows, near, strict=True)
        found = [(*row, distance) for row, (_, distance) in pairs if row is not None]
        self._called(Call("nearest", len(found), sum(size for size, _, _ in found)))
        return [
            unmarshal_item(from_text(text, without=VECTORS.vector)) | {DISTANCE: distance}
            for _, text, distance in found
        ]

    def forget(self) -> None:
        """Drop all vectors from memory. Needed after the file was replaced by another file."""
        with self._lock:
            self._partitions.clear()

    def _partition(self, connection: sqlite3.Connection, search: VectorSearch) -> _Partition:
        name = (search.partition, search.model)
        partition = self._partitions.setdefault(name, _Partition())
        self._partitions.move_to_end(name)
        partition.refresh(connection, name)
        while len(self._partitions) > 1 and self._cached() > MAX_CACHED_VECTORS:
            self._partitions.popitem(last=False)
        return partition

    def _cached(self) -> int:
        return sum(map(len, self._partitions.values()))
