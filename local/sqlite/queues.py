"""The queues on SQLite. The local clock decides when a message is due."""

import logging
import sqlite3
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Any

from local.events import QueueMessage
from local.polling.inbox import Held, PolledQueue
from local.sqlite.database import Database
from skein.adapters.aws.rules import check_jobs
from skein.models.outbox.jobs import Job
from skein.ports import Clock

COLUMNS = "id, message_id, body, sent_at, first_received_at, receives, due_at"
TENANT = "CASE WHEN json_valid(body) THEN json_extract(body, '$.tenant') END"
INSERT = "INSERT INTO messages (message_id, queue, body, sent_at, due_at) VALUES (?, ?, ?, ?, ?)"

# Tenants take turns, as on SQS's fair queues: the tenant with the fewest messages at work is first.
IN_TURN = """
  WITH due AS (
    SELECT {columns}, {tenant} AS tenant FROM messages
    WHERE queue = :queue AND due_at <= :now AND id NOT IN ({running})
  ), working AS (
    SELECT {tenant} AS tenant, count(*) AS number FROM messages
    WHERE queue = :queue AND received = 1 AND due_at > :now GROUP BY 1
  )
  SELECT {columns} FROM due LEFT JOIN working USING (tenant)
  ORDER BY row_number() OVER (PARTITION BY tenant ORDER BY due_at, id) + coalesce(number, 0),
    due_at, id
  LIMIT :limit"""

logger = logging.getLogger(__name__)


class SqliteQueues:
    """`Queues` on SQLite, for several threads and processes.

    Args:
        clock: The clock that decides when messages become due.
        names: The names of the stored queues, by the queue name that jobs have.
        sent: Called after each commit of messages.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        names: Mapping[str, str],
        *,
        sent: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._names = names
        self._sent = sent

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """See `skein.ports.Queues`. Either all jobs are sent, or none is."""
        check_jobs(jobs, delay_seconds)
        if not jobs:
            return
        now = self._clock.now().timestamp()
        rows = [
            (
                str(uuid.uuid4()),
                self._names[job.queue],
                job.model_dump_json(),
                now,
                now + delay_seconds,
            )
            for job in jobs
        ]
        with self._database.writing() as connection:
            connection.executemany(INSERT, rows)
        self._sent()


class SqliteInbox:
    """`Inbox` on SQLite.

    The visibility timeout of a message begins when the message is taken, so the message is
    delivered again if its outcome is never recorded. While this process works on a message, it does
    not take the message again, even if the clock is moved past the visibility timeout.

    Args:
        sources: The queues and their functions.
    """

    def __init__(self, database: Database, *, sources: Sequence[PolledQueue], clock: Clock) -> None:
        self.sources = sources
        self._database = database
        self._clock = clock
        self._running: set[int] = set()
        self._lock = threading.Lock()

    def next_due(self) -> datetime | None:
        running = self._ids()
        with self._database.reading() as connection:
            found = [
                connection.execute(
                    "SELECT due_at FROM messages WHERE queue = ?"  # noqa: S608 - no input
                    f" AND id NOT IN ({_marks(running)}) ORDER BY due_at LIMIT 1",
                    [source.queue.logical_id, *running],
                ).fetchone()
                for source in self.sources
            ]
        return min((_time(row[0]) for row in found if row is not None), default=None)

    def waiting(self) -> list[Held]:
        now = self._clock.now()
        with self._database.reading() as connection:
            return [
                replace(held, running=False)
                for source in self.sources
                for held in self._all(connection, source, now)
            ]

    def shift(self, by: timedelta) -> int:
        running = self._ids()
        with self._database.writing() as connection:
            changed = connection.execute(
                f"UPDATE messages SET due_at = due_at + ? WHERE id NOT IN ({_marks(running)})",  # noqa: S608
                [by.total_seconds(), *running],
            )
            return changed.rowcount

    def take(self, source: PolledQueue) -> list[Held]:
        now = self._clock.now()
        with self._database.reading() as connection:
            found = self._next(connection, source, now)
        if not found:
            return []
        visible_at = now.timestamp() + source.queue.visibility
        with self._database.writing() as connection:
            connection.executemany(
                "UPDATE messages SET received = 1, receives = receives + 1, due_at = ?,"
                " first_received_at = coalesce(first_received_at, ?) WHERE id = ?",
                [(visible_at, now.timestamp(), int(one.message.receipt_handle)) for one in found],
            )
        with self._lock:
            self._running |= {int(one.message.receipt_handle) for one in found}
        return found

    def succeed(self, held: Held) -> None:
        self._finish(held, "DELETE FROM messages WHERE id = ?", [])

    def fail(self, held: Held) -> None:
        queue, now = held.source.queue, self._clock.now().timestamp()
        if not held.is_last_attempt:
            self._finish(
                held,
                "UPDATE messages SET received = 0, due_at = ? WHERE id = ?",
                [now + queue.visibility],
            )
            return
        self._finish(
            held,
            "UPDATE messages SET received = 0, receives = 0, queue = ?, due_at = ? WHERE id = ?",
            [queue.dead_letters, now],
        )
        logger.warning("a message of %s went to %s", queue.logical_id, queue.dead_letters)

    def release(self) -> None:
        """See `local.polling.inbox.Inbox`.

        Messages that a stopped process had taken are due again.
        """
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE messages SET received = 0, due_at = min(due_at, ?) WHERE received = 1",
                [self._clock.now().timestamp()],
            )

    def _all(
        self, connection: sqlite3.Connection, source: PolledQueue, now: datetime
    ) -> list[Held]:
        """Return all waiting messages of a queue, earliest first."""
        running = self._ids()
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM messages WHERE queue = ?"  # noqa: S608 - no input
            f" AND id NOT IN ({_marks(running)}) ORDER BY due_at, id",
            [source.queue.logical_id, *running],
        ).fetchall()
        return [_held(source, row, now) for row in rows]

    def _next(
        self, connection: sqlite3.Connection, source: PolledQueue, now: datetime
    ) -> list[Held]:
        """Return the next batch of due messages. Tenants take turns in it."""
        running = ", ".join(str(number) for number in self._ids())
        rows = connection.execute(
            IN_TURN.format(columns=COLUMNS, tenant=TENANT, running=running),
            {
                "queue": source.queue.logical_id,
                "now": now.timestamp(),
                "limit": source.settings.batch_size,
            },
        ).fetchall()
        return [_held(source, row, now) for row in rows]

    def _finish(self, held: Held, statement: str, values: Sequence[object]) -> None:
        row = int(held.message.receipt_handle)
        try:
            with self._database.writing() as connection:
                connection.execute(statement, [*values, row])
        finally:
            with self._lock:
                self._running.discard(row)

    def _ids(self) -> list[int]:
        with self._lock:
            return list(self._running)


def messages_in(database: Database, queue: str) -> int:
    """Return the number of messages in a queue."""
    with database.reading() as connection:
        [number] = connection.execute(
            "SELECT count(*) FROM messages WHERE queue = ?", [queue]
        ).fetchone()
    return int(number)


def _held(source: PolledQueue, row: tuple[Any, ...], now: datetime) -> Held:
    number, message_id, body, sent_at, first_received_at, receives, due_at = row
    message = QueueMessage(
        message_id=message_id,
        receipt_handle=str(number),
        body=body,
        md5=md5(body.encode(), usedforsecurity=False).hexdigest(),
        receive_count=receives + 1,
        sent_at=_time(sent_at),
        first_received_at=now if first_received_at is None else _time(first_received_at),
    )
    return Held(source, message, _time(due_at), running=True, failures=receives)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
