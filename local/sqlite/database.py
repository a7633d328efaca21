"""One SQLite file, durable at every commit, that several threads and processes may use at once."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from local.errors import DamagedDataError, OtherFormatError
from skein.errors import Ambiguous, StorageFull, Throttled, Unavailable

BUSY_SECONDS = 10.0  # another process may hold the lock for so long
MAX_WAL_BYTES = 16 * 1024 * 1024
MEMORY = ":memory:"

# The format of the data folder, kept as `user_version` of its databases. Raise it with each change
# after which this code cannot use a folder of the code before: other keys, required attributes,
# tables of SQLite or files. A folder of another format is refused.
STORAGE_FORMAT = 6
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
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL,
  queue TEXT NOT NULL,
  body TEXT NOT NULL,
  sent_at REAL NOT NULL,
  due_at REAL NOT NULL,
  first_received_at REAL,
  receives INTEGER NOT NULL DEFAULT 0,
  received INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX messages_due ON messages (queue, due_at, id);
CREATE TABLE vectors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  partition TEXT NOT NULL,
  model TEXT NOT NULL,
  pk TEXT NOT NULL,
  sk TEXT NOT NULL,
  author TEXT NOT NULL,
  month TEXT NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (pk, sk)
);
CREATE INDEX vectors_partition ON vectors (partition, model, id);
CREATE TABLE vector_partitions (
  partition TEXT NOT NULL,
  model TEXT NOT NULL,
  changed INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  PRIMARY KEY (partition, model)
) WITHOUT ROWID;
CREATE TABLE feeds (
  name TEXT PRIMARY KEY,
  patterns TEXT NOT NULL
);
CREATE TABLE changes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  feed TEXT NOT NULL,
  record TEXT NOT NULL
);
CREATE INDEX changes_of ON changes (feed, id);
"""


class Database:
    """SQLite database with one writer at a time and any number of readers.

    A connection is opened at the first use, so a process may fork before. A database in memory has
    one connection, which its users share in turn.

    Args:
        path: The file; None keeps everything in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._max_pages: int | None = None
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writer = threading.RLock()
        self._closed = False
        self._generation = 0  # connections of an earlier limit are not used again
        if path is None:
            self._idle.append(self._prepared(self._open()))

    def create(self) -> None:
        """Create the file and its tables if it is missing, and check an existing file.

        The file is created together with its tables, so a file without tables is damaged.

        Raises:
            DamagedDataError: The file is damaged.
            OtherFormatError: The file has another storage format.
        """
        try:
            if self._path is not None and not self._path.exists():
                _create_file(self._path)
            connection = self._prepared(self._open())
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise _meaning(error) from error
            raise _damaged(self._path) from error
        self._give_back(connection, self._generation)

    def _prepared(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        with _closed_on_error(connection):
            [found, tables] = connection.execute(
                "SELECT user_version, (SELECT COUNT(*) FROM sqlite_schema) FROM pragma_user_version"
            ).fetchone()
            if found == 0 and tables == 0:
                if self._path is not None:
                    raise _damaged(self._path)
                _create_tables(connection)
            elif found != STORAGE_FORMAT:
                raise _of_another_format(self._path)
            elif not _is_sound(connection):
                raise _damaged(self._path)
        return connection

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
        """Return a context with a connection for reads; a statement sees one state of the data.

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
        with _closed_on_error(connection):
            # A commit returns when its data is on the disk.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA journal_size_limit = {MAX_WAL_BYTES}")
            if self._max_pages is not None:
                connection.execute(f"PRAGMA max_page_count = {self._max_pages}")
        return connection


class _Borrowed:
    """Context of a connection that only one block uses, under a lock if there is one.

    It is a class because a generator would take as long as a read of an item.
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
            SkeinError: SQLite raised the given operational error, which is converted.
        """
        if self._lock is not None:
            self._lock.release()
        if isinstance(error, sqlite3.OperationalError):
            raise _meaning(error) from error


def _create_file(path: Path) -> None:
    """Create a database under a temporary name, and rename it once it is complete."""
    partial = path.with_name(f"{path.name}.part")
    for ending in ("", "-wal", "-shm"):
        partial.with_name(f"{partial.name}{ending}").unlink(missing_ok=True)
    with closing(sqlite3.connect(partial, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        _create_tables(connection)
    partial.replace(path)


def _create_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {STORAGE_FORMAT}")
    connection.execute("COMMIT")


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _is_sound(connection: sqlite3.Connection) -> bool:
    [said] = connection.execute("PRAGMA quick_check(1)").fetchone()
    return bool(said == "ok")


def _commit(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if _code(error) == sqlite3.SQLITE_IOERR:
            raise Ambiguous("the disk failed while a transaction was written") from error
        raise


def _meaning(error: sqlite3.OperationalError) -> Exception:
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


def _damaged(path: Path | None) -> DamagedDataError:
    return DamagedDataError(
        f"{path} is damaged: restore a copy, or delete the file to start without its data"
    )


def _of_another_format(path: Path | None) -> OtherFormatError:
    folder = path.parent if path else MEMORY
    return OtherFormatError(
        f"{folder} has the data of another version of Skein: move the folder away, "
        "or set SKEIN_DATA_DIR to another folder, to start without that data"
    )
