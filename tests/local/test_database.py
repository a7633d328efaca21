"""The SQLite file: durable, one writer at a time, and honest about a full disk."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.sqlite.database import Database
from local.sqlite.queues import SqliteQueues, messages_in
from local.sqlite.table import SqliteTable
from skein.adapters.sqlite_table.items import item_size
from skein.errors import StorageFull, Unavailable
from skein.models.common.storage import Key, Put, Query, Update
from skein.models.outbox.jobs import RunJob
from tests.fakes.system import FixedClock
from tests.support.builders import NOON

THREADS, WRITES = 4, 25
SPARE_PAGES = 8
LARGE = "x" * 3_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "skein.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    made = Database(path)
    made.create()
    yield made
    made.close()


def fill(write: Callable[[int], None]) -> int:
    """Write until the disk is full; return the number of writes that succeeded."""
    for number in range(1_000):
        try:
            write(number)
        except StorageFull:
            return number
    raise AssertionError("the disk is never full")


def test_each_connection_writes_through_to_the_disk(database: Database) -> None:
    with database.reading() as first, database.reading() as second:
        for connection in (first, second):
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_second_process_sees_each_commit(database: Database, path: Path) -> None:
    other = SqliteTable(Database(path))
    SqliteTable(database).write(Put(Key("p", "s"), {"n": 1}))
    assert other.get(Key("p", "s")) == {"pk": "p", "sk": "s", "n": 1}


def test_concurrent_updates_through_two_connections_are_all_kept(
    database: Database, path: Path
) -> None:
    tables = [SqliteTable(database), SqliteTable(Database(path))]

    def count(table: SqliteTable) -> None:
        for _ in range(WRITES):
            table.write(Update(Key("p", "s"), add={"n": 1}))

    threads = [threading.Thread(target=count, args=(tables[n % 2],)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    item = tables[0].get(Key("p", "s"))
    assert item is not None
    assert item["n"] == THREADS * WRITES


def test_full_disk_refuses_writes_and_keeps_the_data(database: Database) -> None:
    table = SqliteTable(database)
    database.limit(database.pages + SPARE_PAGES)
    kept = fill(lambda n: table.write(Put(Key("p", f"{n:03}"), {"text": LARGE})))
    assert kept > 0
    assert [item["sk"] for item in table.query(Query("p")).items] == [
        f"{n:03}" for n in range(kept)
    ]
    database.limit(None)
    table.write(Put(Key("p", f"{kept:03}"), {"text": LARGE}))
    assert len(table.query(Query("p")).items) == kept + 1


def test_transaction_on_a_full_disk_writes_nothing(database: Database) -> None:
    table = SqliteTable(database)
    database.limit(database.pages + SPARE_PAGES)
    with pytest.raises(StorageFull):
        table.transact([Put(Key("p", f"{n:02}"), {"text": LARGE}) for n in range(40)])
    assert not table.all_items()


def test_full_disk_refuses_jobs_and_keeps_those_that_were_sent(database: Database) -> None:
    queues = SqliteQueues(database, FixedClock(NOON), {"turns": "Runs"})
    job = RunJob(tenant="demo", run_id="run_" + "1" * 60, agent_id="agt_1")
    database.limit(database.pages + 2)
    sent = fill(lambda _: queues.send([job] * 10))
    assert messages_in(database, "Runs") == 10 * sent
    database.limit(None)
    queues.send([job])
    assert messages_in(database, "Runs") == 10 * sent + 1


def test_closed_database_is_unavailable(database: Database) -> None:
    database.close()
    with pytest.raises(Unavailable, match="closed"):
        SqliteTable(database).get(Key("p", "s"))


def test_expired_items_are_deleted(database: Database) -> None:
    clock = FixedClock(NOON)
    table = SqliteTable(database, clock)
    table.write(Put(Key("p", "old"), {"expires_at": int(NOON.timestamp())}))
    table.write(Put(Key("p", "new"), {"expires_at": int(NOON.timestamp()) + 1}))
    table.write(Put(Key("p", "kept"), {}))
    table.delete_expired()
    assert [key.sk for key in table.all_items()] == ["kept", "new"]


def test_bytes_are_read_as_they_were_written(database: Database) -> None:
    data = b"\xfb\xff" * 30  # differ between the alphabets of base64
    table, key = SqliteTable(database), Key("P#1", "S#1")
    table.write(Put(key, {"data": data}))
    assert table.get(key) == {"pk": key.pk, "sk": key.sk, "data": data}


@pytest.mark.parametrize(
    ("number", "size"),
    [("0", 2), ("7", 2), ("100", 2), ("123", 3), ("1200", 2), ("-12.5", 3), ("0.01", 2)],
)
def test_size_of_a_number_follows_its_significant_digits(number: str, size: int) -> None:
    assert item_size({"n": {"N": number}}) == 1 + size
