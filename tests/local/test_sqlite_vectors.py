"""The vectors of the local table, which a process keeps in memory."""

from pathlib import Path

import pytest

from local.sqlite import vectors as module
from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from skein.models.common.storage import Delete, Key, Put
from skein.models.common.vector_search import DIMENSIONS, VectorSearch
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON


def put(table: SqliteTable, name: str, *components: float, partition: str = "p") -> Key:
    key = Key(f"acme#CHAT#{name}", "RECALL#agt_a#000000000001#00")
    item = {
        "chat_id": name,
        "recall_scope": partition,
        "recall_model": "m",
        "vector": vector(*components),
        "recall_author": "usr_ann",
        "recall_month": "2026-02",
        "expires_at": NOON.timestamp() + 60,
    }
    table.write(Put(key, item))
    return key


def vector(*components: float) -> tuple[float, ...]:
    return (*components, *[0.0] * (DIMENSIONS - len(components)))


def names(vectors: SqliteVectors, partition: str = "p") -> list[str]:
    search = VectorSearch(partition, "m", vector(1))
    return [item["chat_id"] for item in vectors.nearest(search)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Database(tmp_path / "skein.db").create()
    return tmp_path / "skein.db"


def test_nearest_finds_the_writes_of_another_process(path: Path) -> None:
    here, there = Database(path), Database(path)
    vectors, table = SqliteVectors(here), SqliteTable(there)
    first = put(table, "a", 1)
    assert names(vectors) == ["a"]
    put(table, "b", 1, 1)
    assert names(vectors) == ["a", "b"]
    table.write(Delete(first))
    assert names(vectors) == ["b"]
    put(table, "b", 1, 0.5)
    put(table, "c", 1, 0.7)
    assert names(vectors) == ["b", "c"]
    here.close()
    there.close()


def test_nearest_after_new_blocks_reads_only_the_new_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(path)
    vectors, table = SqliteVectors(database), SqliteTable(database)
    for number in range(20):
        put(table, str(number), 1, number)
    assert len(names(vectors)) == 20
    kept: list[str] = []
    keep = module._Partition._keep

    def counted(self: module._Partition, key: Key, *row: object) -> None:
        kept.append(key.pk)
        keep(self, key, *row)  # type: ignore[arg-type]

    monkeypatch.setattr(module._Partition, "_keep", counted)
    put(table, "3", 1)
    put(table, "new", 1, 0.1)
    assert names(vectors)[:3] == ["0", "3", "new"]
    assert kept == ["acme#CHAT#3", "acme#CHAT#new"]
    assert len(names(vectors)) == 21
    assert len(kept) == 2
    database.close()


def test_nearest_beyond_the_cache_keeps_the_partition_used_last(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CACHED_VECTORS", 3)
    database = Database(path)
    vectors, table = SqliteVectors(database), SqliteTable(database)
    for partition in ("p", "q"):
        for number in range(2):
            put(table, f"{partition}{number}", 1, number, partition=partition)
    assert names(vectors, "p") == ["p0", "p1"]
    assert names(vectors, "q") == ["q0", "q1"]
    assert list(vectors._partitions) == [("q", "m")]
    assert names(vectors, "p") == ["p0", "p1"]
    database.close()


def test_delete_expired_deletes_the_vectors_of_expired_items(path: Path) -> None:
    clock = FixedClock(NOON)
    database = Database(path)
    vectors, table = SqliteVectors(database, clock), SqliteTable(database, clock)
    put(table, "a", 1)
    assert names(vectors) == ["a"]
    clock.advance(61)
    table.delete_expired()
    with database.reading() as connection:
        assert connection.execute("SELECT COUNT(*) FROM vectors").fetchone() == (0,)
    clock.set(NOON)
    assert names(vectors) == []
    database.close()


def test_memory_table_copy_finds_the_copied_vectors() -> None:
    ours, theirs = MemoryTable(), MemoryTable()
    put(ours, "a", 1)
    put(theirs, "b", 1)
    assert names(ours.vectors) == ["a"]
    ours.copy(theirs)
    assert names(ours.vectors) == ["b"]


def test_put_with_a_vector_of_other_dimensions_writes_nothing() -> None:
    table = MemoryTable()
    item = {
        "recall_scope": "p",
        "recall_model": "m",
        "vector": [1.0],
        "recall_author": "usr_ann",
        "recall_month": "2026-02",
    }
    with pytest.raises(ValueError, match="256 dimensions"):
        table.write(Put(Key("p", "s"), item))
    assert not table.all_items()


def test_nearest_does_not_parse_the_vector_whatever_the_texts_contain() -> None:
    table = MemoryTable()
    quoting = '"vector":{"L":[{"N":"1"}]}, "steps'
    item = {
        "aaa": quoting,
        "recall_scope": "p",
        "recall_model": "m",
        "vector": vector(1, 0.5),
        "recall_author": "usr_ann",
        "recall_month": "2026-02",
        "lines": quoting,
        "steps": b"]}",
    }
    table.write(Put(Key("k", "s"), item))
    [found] = table.vectors.nearest(VectorSearch("p", "m", vector(1)))
    del item["vector"]
    assert found.pop("distance") > 0
    assert found == {"pk": "k", "sk": "s", **item}
