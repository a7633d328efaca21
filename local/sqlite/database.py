"""The SQLite files of the local stack: the table, the queues, the vectors and the changes."""

import sqlite3
from contextlib import closing
from pathlib import Path

from local.errors import DamagedDataError, OtherFormatError
from skein.adapters.sqlite_table import database

# The format of the data folder, kept as `user_version` of its databases. Raise it with each change
# after which this code cannot use a folder of the code before: other keys, required attributes,
# tables of SQLite or files. A folder of another format is refused.
STORAGE_FORMAT = 6
SCHEMA = f"""{database.SCHEMA.rstrip()}
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


class Database(database.Database):
    """A database with the tables of the local stack."""

    schema = SCHEMA

    def create(self) -> None:
        """Create the file with its tables if the file is missing; check an existing file.

        The file never exists without its tables, so a file without tables is damaged.

        Raises:
            DamagedDataError: The file is damaged.
            OtherFormatError: The file has another storage format.
        """
        path = self._path
        if path is None:
            return  # a database in memory has its tables
        try:
            if not path.exists():
                _create_file(path)
            connection = self._open()
            with database.closed_on_error(connection):
                _check(connection, path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise database.meaning_of(error) from error
            raise _damaged(path) from error
        self._give_back(connection, self._generation)


def _create_file(path: Path) -> None:
    """Create a database under a temporary name, and rename it once it is complete."""
    partial = path.with_name(f"{path.name}.part")
    for ending in ("", "-wal", "-shm"):
        partial.with_name(f"{partial.name}{ending}").unlink(missing_ok=True)
    with closing(sqlite3.connect(partial, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        database.create_tables(connection, SCHEMA)
        connection.execute(f"PRAGMA user_version = {STORAGE_FORMAT}")
        connection.execute("COMMIT")
    partial.replace(path)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    [found, tables] = connection.execute(
        "SELECT user_version, (SELECT COUNT(*) FROM sqlite_schema) FROM pragma_user_version"
    ).fetchone()
    if found == 0 and tables == 0:
        raise _damaged(path)
    if found != STORAGE_FORMAT:
        raise _of_another_format(path)
    [said] = connection.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise _damaged(path)


def _damaged(path: Path) -> DamagedDataError:
    return DamagedDataError(
        f"{path} is damaged: restore a copy, or delete the file to start without its data"
    )


def _of_another_format(path: Path) -> OtherFormatError:
    return OtherFormatError(
        f"{path.parent} has the data of another version of Skein: move the folder away, "
        "or set SKEIN_DATA_DIR to another folder, to start without that data"
    )
