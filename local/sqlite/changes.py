"""The changes of the table. A transaction writes them together with its items.

A feed is a function that is called with the changes. Each feed has a list of its own, with the
changes that its filters accept and that it has not handled yet. While no feed is attached, no
changes are written. The feeds are stored in the database, so that each process that writes items
knows them.
"""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from uuid import uuid4

from local.events import Event, given_up, sequence_number, stream_change
from local.intrinsics import TABLE_NAME, function_arn, table_arn
from local.polling.event_filters import EventFilters, filters_of
from local.polling.feed import FeedSource
from skein.adapters.dynamodb.attributes import StoredItem
from skein.adapters.sqlite_table.database import Database
from skein.adapters.sqlite_table.items import as_text, item_size
from skein.models.common.storage import Key
from skein.ports import Clock

MAX_CHANGES = 50_000
FIRST_SEQUENCE_NUMBER = 10**20  # so that all sequence numbers have the same length
INSERT = "INSERT INTO changes (feed, record) VALUES (?, ?)"
# Ids are never used again, so a range of N ids has at most N changes.
FORGET = "DELETE FROM changes WHERE id <= (SELECT max(id) FROM changes) - ?"

logger = logging.getLogger(__name__)


def record_changes(
    connection: sqlite3.Connection,
    before: Mapping[Key, StoredItem | None],
    after: Mapping[Key, StoredItem | None],
    *,
    at: Callable[[], float],
    expired: bool = False,
) -> int:
    """Write the changes of a transaction for all feeds whose filters accept them.

    If there are more than `MAX_CHANGES` changes, the oldest ones are deleted.

    Args:
        connection: The connection of the transaction.
        before: The items before the transaction.
        after: The items after the transaction. No change is written for an item that is equal to
            the item before.
        at: Returns the time, in seconds since 1970.
        expired: Whether the items are deleted because they have expired.

    Returns:
        The number of changes that were written.
    """
    feeds = connection.execute("SELECT name, patterns FROM feeds").fetchall()
    if not feeds:
        return 0
    rows = []
    for change in records_of(before, after, at=at, expired=expired):
        wanted = [name for name, patterns in feeds if _accepts(patterns, change)]
        if wanted:
            change["dynamodb"]["SizeBytes"] = size_of(change["dynamodb"])
            text = json.dumps(change, ensure_ascii=False, separators=(",", ":"), default=as_text)
            rows += [(name, text) for name in wanted]
    if rows:
        connection.executemany(INSERT, rows)
        connection.execute(FORGET, [MAX_CHANGES])
    return len(rows)


def records_of(
    before: Mapping[Key, StoredItem | None],
    after: Mapping[Key, StoredItem | None],
    *,
    at: Callable[[], float],
    expired: bool,
) -> Iterator[Event]:
    """Yield a record for each item that a transaction has changed, without number and size.

    The arguments are those of `record_changes`.
    """
    for key, new in after.items():
        old = before[key]
        if old != new:
            yield stream_change(table_arn(TABLE_NAME), old, new, at=at(), expired=expired)


class SqliteChanges:
    """The changes for the feeds. See `local.polling.feed.Changes`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def attach(self, sources: Sequence[FeedSource]) -> None:
        """Replace the feeds. The changes for removed feeds are deleted and no longer written."""
        rows = [(source.name, json.dumps(source.settings.patterns)) for source in sources]
        with self._database.writing() as connection:
            connection.execute("DELETE FROM feeds")
            connection.executemany("INSERT INTO feeds (name, patterns) VALUES (?, ?)", rows)
            connection.execute("DELETE FROM changes WHERE feed NOT IN (SELECT name FROM feeds)")

    def read(self, source: FeedSource) -> list[Event]:
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT id, record FROM changes WHERE feed = ? ORDER BY id LIMIT ?",
                [source.name, source.settings.batch_size],
            ).fetchall()
        return [numbered(json.loads(text), number) for number, text in rows]

    def done(self, source: FeedSource, last: Event) -> None:
        with self._database.writing() as connection:
            connection.execute(*_forget(source, last))

    def give_up(
        self, source: FeedSource, changes: Sequence[Event], *, condition: str, calls: int
    ) -> None:
        """See `local.polling.feed.Changes`. Sending and deleting are one transaction."""
        now = self._clock.now()
        arn = function_arn(source.name)
        body = given_up(arn, changes, condition=condition, calls=calls, now=now)
        with self._database.writing() as connection:
            connection.execute(*_forget(source, changes[-1]))
            if source.settings.failures is not None:
                connection.execute(
                    "INSERT INTO messages (message_id, queue, body, sent_at, due_at)"
                    " VALUES (?, ?, ?, ?, ?)",
                    [
                        str(uuid4()),
                        source.settings.failures,
                        json.dumps(body),
                        *[now.timestamp()] * 2,
                    ],
                )


def _forget(source: FeedSource, last: Event) -> tuple[str, list[object]]:
    number = int(sequence_number(last)) - FIRST_SEQUENCE_NUMBER
    return "DELETE FROM changes WHERE feed = ? AND id <= ?", [source.name, number]


def numbered(record: Event, number: int) -> Event:
    """Set the id and the sequence number of a record, which follow from its number."""
    record["eventID"] = f"{number:032x}"
    record["dynamodb"]["SequenceNumber"] = str(FIRST_SEQUENCE_NUMBER + number)
    return record


def _accepts(patterns: str, change: Event) -> bool:
    return _filters(patterns).accept(change)


@lru_cache(maxsize=16)
def _filters(patterns: str) -> EventFilters:
    return filters_of(tuple(json.loads(patterns)))


def size_of(change: Event) -> int:
    """Return the size of the keys and images of a change, in bytes."""
    images = [change[name] for name in ("Keys", "OldImage", "NewImage") if name in change]
    return sum(item_size(image) for image in images)
