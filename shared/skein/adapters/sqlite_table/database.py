"""A database of SQLite, durable at every commit, for several threads and processes at once."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skein.errors import Ambiguous, StorageFull, Throttled, Unavailable

BUSY_SECONDS = 10.0  # another process may hold the lock for so long
MAX_WAL_BYTES = 16 * 1024 * 1024
MEMORY = ":memory:"

SCHEMA = """
CREATE TABLE items (
  pk TEXT NOT NULL,
  sk TEXT NOT NULL,
  gsi1pk TEXT,
  gsi1sk TEXT,
  gsi2pk TEXT,
  gsi2sk TEXT,
  expires_at REAL,
  size INTEGER NOT NULL,
  item TEXT NOT NULL,
  UNIQUE (pk, sk)
);
CREATE INDEX gsi1 ON items (gsi1pk, gsi1sk, pk, sk)
  WHERE gsi1pk IS NOT NULL AND gsi1sk IS NOT NULL;
CREATE INDEX gsi2 ON items (gsi2pk, gsi2sk, pk, sk)
  WHERE gsi2pk IS NOT NULL AND gsi2sk IS NOT NULL;
"""


class Database:
    """SQLite database with one writer at a time and any number of readers.

    A connection is opened at the first use, so a process may fork before it uses the database. A
    database in memory has one connection, which its users share in turn.

    Args:
        path: The file; None keeps everything in memory.

    Attributes:
        schema: The statements that create the tables and their indexes.
    """

    schema = SCHEMA

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._max_pages: int | None = None
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writer = threading.RLock()
        self._closed = False
        self._generation = 0  # connections of an earlier limit are not used again
        if path is None:
            self._idle.append(self._open())
            create_tables(self._idle[0], self.schema)

    def limit(self, max_pages: int | None) -> None:
        """Limit the file to a number of pages, to simulate a full disk; None removes the limit."""
        with self._lock:
            self._max_pages = max_pages
            self._generation += 1
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @property
    def pages(self) -> int:
        """The current size in pages."""
        with self.reading() as connection:
            count: int = connection.execute("PRAGMA page_count").fetchone()[0]
        return count

    def reading(self) -> "_Borrowed":
        """Return a context manager with a connection for reads; each statement sees a snapshot.

        Raises:
            Unavailable: The database is closed, or the disk cannot be read.
            Throttled: Another process holds the lock.
        """
        return _Borrowed(self, self._writer if self._path is None else None)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for one transaction, which is on the disk when the block ends.

        Raises:
            StorageFull: The disk is full; nothing was written.
            Unavailable: The database is closed, or the disk cannot be written; nothing was written.
            Throttled: Another process holds the lock; nothing was written.
            Ambiguous: The disk failed during the commit.
        """
        with _Borrowed(self, self._writer) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                _commit(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close all connections; later calls fail (idempotent)."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise Unavailable("the local database is closed")
            if self._idle:
                return self._idle.pop()
        return self._open()

    def _give_back(self, connection: sqlite3.Connection, generation: int) -> None:
        with self._lock:
            if not self._closed and generation == self._generation:
                self._idle.append(connection)
                return
        connection.close()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path or MEMORY,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # a connection has one user at a time
        )
        with closed_on_error(connection):
            # A commit returns when its data is on the disk.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA journal_size_limit = {MAX_WAL_BYTES}")
            if self._max_pages is not None:
                connection.execute(f"PRAGMA max_page_count = {self._max_pages}")
        return connection


class _Borrowed:
    """Context manager that lends a connection to one block, under the lock if there is one.

    This is a class because a context manager from a generator takes as long as reading an item.
    """

    __slots__ = ("_connection", "_database", "_generation", "_lock")

    def __init__(self, database: Database, lock: "threading.RLock | None") -> None:
        self._database = database
        self._lock = lock

    def __enter__(self) -> sqlite3.Connection:
        if self._lock is not None:
            self._lock.acquire()
        try:
            self._generation = self._database._generation
            self._connection = self._database._borrow()
        except BaseException as error:
            self._leave(error)
            raise
        return self._connection

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._database._give_back(self._connection, self._generation)
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        """Release the lock.

        Raises:
            SkeinError: The block raised an operational error of SQLite, which is converted.
        """
        if self._lock is not None:
            self._lock.release()
        if isinstance(error, sqlite3.OperationalError):
            raise meaning_of(error) from error


def create_tables(connection: sqlite3.Connection, schema: str) -> None:
    """Create the tables of a schema and their indexes."""
    for statement in schema.split(";"):
        connection.execute(statement)


@contextmanager
def closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """Close a connection if the block fails."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _commit(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if _code(error) == sqlite3.SQLITE_IOERR:
            raise Ambiguous("the disk failed while a transaction was written") from error
        raise


def meaning_of(error: sqlite3.OperationalError) -> Exception:
    """Map an error of SQLite to an error of Skein."""
    match _code(error):
        case sqlite3.SQLITE_FULL:
            return StorageFull("the disk of the local database is full")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Throttled("another process holds the local database")
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY:
            return Unavailable(f"the local database cannot be used: {error}")
        case _:
            return error


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code of an error."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
