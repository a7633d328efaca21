"""The table of the local stack. It also stores the vectors, and the changes for feeds."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from functools import partial

from local.sqlite.changes import record_changes
from local.sqlite.database import Database
from local.sqlite.vectors import write_vector
from skein.adapters.dynamodb.attributes import StoredItem
from skein.adapters.sqlite_table import table
from skein.adapters.sqlite_table.calls import Call
from skein.models.common.storage import Key
from skein.ports import Clock


class SqliteTable(table.SqliteTable):
    """The table of the local stack.

    Args:
        clock: The clock that decides when items expire. Without a clock, items never expire.
        called: Called after each call of the table, with a record of the call.
        changed: Called after each commit that has written changes for feeds.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock | None = None,
        *,
        called: Callable[[Call], None] = lambda _: None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        after_write = partial(_after_write, clock)
        super().__init__(database, clock, called=called, after_write=after_write, changed=changed)


def _after_write(
    clock: Clock | None,
    connection: sqlite3.Connection,
    before: Mapping[Key, StoredItem | None],
    after: Mapping[Key, StoredItem | None],
    *,
    expired: bool = False,
) -> bool:
    for key, item in after.items():
        write_vector(connection, key, before[key], item)

    def at() -> float:
        return time.time() if clock is None else clock.now().timestamp()

    return record_changes(connection, before, after, at=at, expired=expired) > 0
