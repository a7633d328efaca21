"""What the metered table says that a call consumes is what Amazon's engine says of it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from bench.scale.metered import MeteredTable
from bench.scale.units import read_units, write_units
from bench.turns.wire import Wire
from skein.adapters.dynamodb.table import DynamoTable
from skein.errors import ConditionFailed
from skein.models.common.storage import Check, Delete, Exists, Key, Missing, Put, Query, Update
from skein.ports import Table
from skein.settings import Settings
from tests.fakes.system import FixedClock
from tests.support.builders import NOON

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

A, B = Key("acme#CHAT#chat_1", "A"), Key("acme#CHAT#chat_1", "B")
DUE = {"gsi2pk": "DUE#run#1", "gsi2sk": "2026-02-18T12:00:00.000Z#a"}
LATER = {"gsi2sk": "2026-02-18T12:01:00.000Z#a"}

CALLS: dict[str, Callable[[Table], object]] = {
    "a small item is put": lambda table: table.write(Put(A, {"text": "x"})),
    "it grows": lambda table: table.write(Update(A, set={"text": "x" * 2_500})),
    "a large item is touched": lambda table: table.write(Update(A, set={"n": 1})),
    "it is read": lambda table: table.get(A),
    "it becomes due": lambda table: table.write(Update(A, set=DUE)),
    "its mark is moved": lambda table: table.write(Update(A, set=LATER)),
    "another is put": lambda table: table.write(Put(B, {"text": "y" * 9_000})),
    "both are read": lambda table: table.get_many([A, B]),
    "both are found": lambda table: table.query(Query(A.pk)),
    "the index is read": lambda table: table.query(Query("DUE#run#1", index="gsi2", limit=9)),
    "it shrinks": lambda table: table.write(Update(A, set={"text": None})),
    "it goes": lambda table: table.write(Delete(A)),
}


def test_units_are_rounded_up_and_nothing_is_free() -> None:
    assert [read_units(size) for size in (0, 1, 4_096, 4_097)] == [1, 1, 1, 2]
    assert [write_units(size) for size in (0, 1, 1_024, 1_025)] == [1, 1, 1, 2]
    assert write_units(3_000, 10) == 3


@pytest.mark.slow
def test_a_transaction_writes_twice_and_its_rows_in_an_index_once() -> None:
    table = MeteredTable(FixedClock(NOON))
    table.transact([Put(A, {"text": "x" * 1_500, **DUE}), Put(B, {})])
    assert [(one.partition, one.writes) for one in table.charges] == [
        (A.pk, 4),
        ("DUE#run#1", 1),
        (B.pk, 2),
    ]
    table.clear()
    table.transact([Check(A, Exists()), Delete(B)])
    assert [one.writes for one in table.charges] == [4, 2]


@pytest.mark.slow
def test_refused_writes_and_missing_items_consume_capacity() -> None:
    table = MeteredTable(FixedClock(NOON))
    table.write(Put(A, {"text": "x" * 1_500}))
    table.clear()
    with pytest.raises(ConditionFailed):
        table.write(Put(A, {}, condition=Missing()))
    table.get(B)
    table.get_many([A, B])
    table.query(Query("acme#CHAT#nobody"))
    table.query(Query("acme#CHAT#nobody", index="gsi1", limit=1))
    assert (table.writes, table.reads) == (2, 1 + 2 + 1 + 0.5)
    assert table.calls.total() == 5


@pytest.mark.slow
@pytest.mark.engine
def test_single_calls_consume_what_the_engine_says(
    engine_client: "DynamoDBClient", clock: FixedClock
) -> None:
    metered, wire = MeteredTable(clock), Wire()
    engine = DynamoTable(engine_client, Settings().table_name, clock)
    wire.listen(engine_client)
    for name, call in CALLS.items():
        metered.clear()
        wire.calls.clear()
        call(metered)
        call(engine)
        [asked] = wire.calls
        assert metered.reads + metered.writes == asked.units, name
