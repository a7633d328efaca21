"""The in-memory table logs each call, so that tests can check costs."""

import pytest

from skein.adapters.sqlite_table.calls import Call
from skein.errors import ConditionFailed
from skein.models.common.storage import Delete, Exists, Key, Missing, Put, Query, Update
from tests.fakes.table import MemoryTable

A, B = Key("p", "a"), Key("p", "b")
SIZE = len("pk" + "p" + "sk" + "a")


def test_every_call_is_kept_with_its_items_and_bytes() -> None:
    table = MemoryTable()
    table.write(Put(A, {"text": "é"}))
    table.transact(
        [Update(B, set={"text": ""}), Put(Key("q", "a"), {"gsi1pk": "x", "gsi1sk": "y"})]
    )
    table.get(A)
    table.get(Key("p", "none"))
    table.get_many([A, B])
    table.query(Query("p"))
    table.query(Query("x", index="gsi1", limit=1))
    table.write(Delete(A, condition=Exists()))
    index_keys = len("gsi1pk" + "x" + "gsi1sk" + "y")
    assert table.log == [
        Call("write", 1, SIZE + 6),
        Call("transact", 2, 2 * SIZE + 4 + index_keys),
        Call("get", 1, SIZE + 6),
        Call("get", 0, 0),
        Call("get_many", 2, 2 * SIZE + 10),
        Call("query", 2, 2 * SIZE + 10),
        Call("query_index", 1, SIZE + index_keys),
        Call("write", 1, 0),
    ]


def test_a_refused_write_is_kept_too() -> None:
    table = MemoryTable()
    table.write(Put(A, {}))
    with pytest.raises(ConditionFailed):
        table.transact([Put(A, {}, condition=Missing()), Put(B, {})])
    assert table.log[1:] == [Call("transact", 0, 0)]
