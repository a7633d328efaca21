"""The table on SQLite, which behaves as DynamoDB does, as far as Skein uses it."""

import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Protocol

from skein.adapters.aws.rules import (
    INDEXES,
    TABLE,
    KeySchema,
    check_batch,
    check_key,
    check_query,
    check_transaction,
    check_write,
    is_impossible,
    schema_of,
)
from skein.adapters.dynamodb.attributes import StoredItem
from skein.adapters.sqlite_table.calls import Call
from skein.adapters.sqlite_table.database import Database
from skein.adapters.sqlite_table.items import (
    MAX_ITEM_BYTES,
    MAX_TRANSACTION_BYTES,
    changed,
    from_text,
    holds,
    item_of,
    item_size,
    keys_size,
    to_text,
)
from skein.errors import ConditionFailed, TooLarge
from skein.models.common.storage import Check, Item, Key, Page, Query, Write
from skein.ports import Clock

NO_LIMIT = -1
EXPIRES_AT = "expires_at"
COLUMNS = ("pk", "sk", *(name for schema in INDEXES.values() for name in schema), EXPIRES_AT)
GET = "SELECT size, item FROM items WHERE pk = ? AND sk = ?"
LIVING = f"({EXPIRES_AT} IS NULL OR {EXPIRES_AT} > ?)"
GET_LIVING = f"{GET} AND {LIVING}"
PUT = (
    f"INSERT OR REPLACE INTO items ({', '.join(COLUMNS)}, size, item)"  # noqa: S608 - no input
    f" VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)
DELETE = "DELETE FROM items WHERE pk = ? AND sk = ?"


class AfterWrite(Protocol):
    """A function that is called within the transaction of each write."""

    def __call__(
        self,
        connection: sqlite3.Connection,
        before: Mapping[Key, StoredItem | None],
        after: Mapping[Key, StoredItem | None],
        *,
        expired: bool = False,
    ) -> bool:
        """Write the rows that depend on the written items, in the same transaction.

        Args:
            connection: The connection of the transaction.
            before: The items before the transaction.
            after: The items after the transaction.
            expired: Whether the items are deleted because they have expired.

        Returns:
            Whether `changed` is to be called after the commit.
        """
        ...


class SqliteTable:
    """A `Table` on SQLite, for several threads and processes.

    Its indexes are always up to date, whereas DynamoDB's may lag behind.

    Args:
        clock: The clock by which items expire; without a clock, no item expires.
        called: Called after each call of the table, with a record of the call.
        after_write: Called in the transaction of each write; if it is None, only the items are
            written.
        changed: Called after each commit for which `after_write` has returned true.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock | None = None,
        *,
        called: Callable[[Call], None] = lambda _: None,
        after_write: AfterWrite | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._called = called
        self._after_write = after_write
        self._changed = changed

    def get(self, key: Key) -> Item | None:
        check_key(key)
        found = self._living([key])
        self._report("get", found)
        return item_of(found[0][1]) if found else None

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        check_batch(keys)
        if not keys:
            return {}
        found = self._living(list(dict.fromkeys(keys)))
        self._report("get_many" if consistent else "get_many_eventual", found)
        items = [item_of(text) for _, text in found]
        return {Key(item["pk"], item["sk"]): item for item in items}

    def query(self, query: Query) -> Page:
        check_query(query)
        if is_impossible(query):
            return Page(())
        found = self._query_table(query) if query.index is None else self._query_index(query)
        self._report("query" if query.index is None else "query_index", found)
        items = tuple(item for _, item in found)
        if query.limit is None or len(items) < query.limit:
            return Page(items)
        # DynamoDB does not look ahead either: a full page may be the last.
        keys = {*TABLE, *schema_of(query)}
        return Page(items, {name: items[-1][name] for name in keys})

    def write(self, write: Write) -> None:
        check_write(write)
        self._carry_out("write", [write])

    def transact(self, writes: Sequence[Write]) -> None:
        check_transaction(writes)
        if writes:
            self._carry_out("transact", writes)

    def all_items(self) -> dict[Key, Item]:
        """Return all stored items in the order of their keys, including expired items."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT item FROM items ORDER BY pk, sk").fetchall()
        items = [item_of(text) for (text,) in rows]
        return {Key(item["pk"], item["sk"]): item for item in items}

    def delete_expired(self) -> None:
        """Delete the expired items, as DynamoDB does some time after they expire."""
        with self._database.writing() as connection:
            now = self._now()
            rows = connection.execute(
                "SELECT item FROM items WHERE expires_at <= ?", [now]
            ).fetchall()
            before = {_key(item): item for (text,) in rows for item in [from_text(text)]}
            connection.executemany(DELETE, before)
            after = dict.fromkeys(before)
            changes = self._written(connection, before, after, expired=True)
        if changes:
            self._changed()

    def _written(
        self,
        connection: sqlite3.Connection,
        before: Mapping[Key, StoredItem | None],
        after: Mapping[Key, StoredItem | None],
        *,
        expired: bool = False,
    ) -> bool:
        if self._after_write is None:
            return False
        return self._after_write(connection, before, after, expired=expired)

    def _now(self) -> float:
        return -math.inf if self._clock is None else self._clock.now().timestamp()

    def _living(self, keys: Sequence[Key]) -> list[tuple[int, str]]:
        now = self._now()
        with self._database.reading() as connection:
            return [row for key in keys for row in connection.execute(GET_LIVING, (*key, now))]

    def _query_table(self, query: Query) -> list[tuple[int, Item]]:
        condition = f"pk = ? AND sk BETWEEN ? AND ? AND {LIVING}"
        parameters: list[object] = [query.pk, query.first, query.last, self._now()]
        order = "DESC" if query.newest_first else "ASC"
        if query.start is not None:
            condition += f" AND sk {'<' if query.newest_first else '>'} ?"
            parameters.append(query.start["sk"])
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT size, item FROM items WHERE {condition} ORDER BY sk {order} LIMIT ?",  # noqa: S608
                [*parameters, NO_LIMIT if query.limit is None else query.limit],
            ).fetchall()
        return [(size, item_of(text)) for size, text in rows]

    def _query_index(self, query: Query) -> list[tuple[int, Item]]:
        statement = _index_statement(schema_of(query), query.newest_first, query.start is not None)
        parameters: list[object] = [query.pk, query.first, query.last]
        if query.start is not None:
            parameters += [query.start[name] for name in (schema_of(query).sk, *TABLE)]
        with self._database.reading() as connection:
            rows = connection.execute(statement, [*parameters, query.limit]).fetchall()
        names = (*TABLE, *schema_of(query))
        items: list[Item] = [dict(zip(names, row, strict=True)) for row in rows]
        return [(keys_size(item), item) for item in items]

    def _carry_out(self, method: str, writes: Sequence[Write]) -> None:
        with self._database.writing() as connection:
            before = {write.key: _stored(connection, write.key) for write in writes}
            failed = frozenset(
                position
                for position, write in enumerate(writes)
                if write.condition is not None and not holds(write.condition, before[write.key])
            )
            if not failed:
                after = _after(writes, before)
                size = _apply(connection, after)
                changes = self._written(connection, before, after)
        if failed:
            self._called(Call(method, 0, 0))
            raise ConditionFailed(failed)
        self._called(Call(method, len(writes), size))
        if changes:
            self._changed()

    def _report(self, method: str, found: Sequence[tuple[int, object]]) -> None:
        self._called(Call(method, len(found), sum([size for size, _ in found])))


@cache
def _index_statement(schema: KeySchema, newest_first: bool, later_page: bool) -> str:  # noqa: FBT001
    pk, sk = schema
    order = "DESC" if newest_first else "ASC"
    condition = f"{pk} = ? AND {sk} >= ? AND {sk} <= ?"
    if later_page:
        condition += f" AND ({sk}, pk, sk) {'<' if newest_first else '>'} (?, ?, ?)"
    return (
        f"SELECT {', '.join((*TABLE, pk, sk))} FROM items WHERE {condition}"  # noqa: S608
        f" ORDER BY {sk} {order}, pk {order}, sk {order} LIMIT ?"
    )


def _after(
    writes: Sequence[Write], before: Mapping[Key, StoredItem | None]
) -> dict[Key, StoredItem | None]:
    return {
        write.key: changed(write, before[write.key])
        for write in writes
        if not isinstance(write, Check)
    }


def _apply(connection: sqlite3.Connection, after: Mapping[Key, StoredItem | None]) -> int:
    """Write the items, whose conditions were checked before, and return their total size."""
    sizes = {key: item_size(item) for key, item in after.items() if item is not None}
    size = sum(sizes.values())
    if max(sizes.values(), default=0) > MAX_ITEM_BYTES or size > MAX_TRANSACTION_BYTES:
        raise TooLarge("The item is too large for the table.")
    for key, item in after.items():
        if item is None:
            connection.execute(DELETE, key)
        else:
            connection.execute(PUT, [*columns_of(item), sizes[key], to_text(item)])
    return size


def _key(item: StoredItem) -> Key:
    return Key(*(item[name]["S"] for name in TABLE))


def _stored(connection: sqlite3.Connection, key: Key) -> StoredItem | None:
    row = connection.execute(GET, key).fetchone()
    return None if row is None else from_text(row[1])


def columns_of(item: StoredItem) -> Iterator[str | float | None]:
    """Yield the values of an item's columns, except its size and its text."""
    for name in COLUMNS:
        value = item.get(name)
        if name == EXPIRES_AT:
            yield None if value is None or "N" not in value else float(value["N"])
        else:
            yield None if value is None else value["S"]
