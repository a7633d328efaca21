"""The generated table of the simulation gives what the table in memory gives of the same items."""

from datetime import timedelta

import pytest

from bench.scale.crowds import KINDS, Crowd
from bench.scale.generated import GeneratedTable
from bench.scale.meter import CallMeter, Pace
from skein.errors import ConditionFailed
from skein.models.common.storage import Item, Key, Page, Put, Query, Update
from skein.models.outbox.due import (
    DUE_SHARDS,
    DueKind,
    due_before,
    due_partition,
    due_pointer,
    still_due,
)
from skein.ports import Table
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON

pytestmark = pytest.mark.slow

SECOND = timedelta(seconds=1)
CROWDS = (
    Crowd("run", 150, NOON - 60 * SECOND, together=5, every=SECOND),
    Crowd("run", 40, NOON - 30 * SECOND, together=1, every=2 * SECOND, seed=2),
    Crowd("consolidation", 90, NOON, together=40, every=3_600 * SECOND),
)


def tables() -> tuple[GeneratedTable, MemoryTable]:
    meter = CallMeter(FixedClock(NOON), Pace(7, 2, 1_024))
    memory = MemoryTable()
    for crowd in CROWDS:
        for number in range(crowd.size):
            key = crowd.key(number)
            mark = due_pointer(crowd.kind, key, crowd.at(number))
            memory.write(Put(key, crowd.item(number) | mark))
    return GeneratedTable(CROWDS, meter), memory


Bounds = tuple[str, str]
ALL: Bounds = ("", "\U0010ffff")


def pages(table: Table, kind: DueKind, shard: int, limit: int, bounds: Bounds = ALL) -> list[Page]:
    found: list[Page] = []
    start: Item | None = None
    while not found or start is not None:
        found.append(
            table.query(
                Query(
                    due_partition(kind, shard),
                    index="gsi2",
                    first=bounds[0],
                    last=bounds[1],
                    limit=limit,
                    start=start,
                )
            )
        )
        start = found[-1].next_start
    return found


def assert_alike(generated: GeneratedTable, memory: MemoryTable) -> None:
    """Every page of every shard, whatever the limits and bounds."""
    half = due_before(NOON - 20 * SECOND)
    kinds: tuple[DueKind, ...] = ("run", "consolidation", "delivery")
    for kind in kinds:
        for shard in range(DUE_SHARDS):
            for limit in (7, 1_000):
                for bounds in (ALL, ("", half), (half, ALL[1]), ("x", "a")):
                    ours = pages(generated, kind, shard, limit, bounds)
                    assert ours == pages(memory, kind, shard, limit, bounds)


def move(table: Table, item: Item, seconds: int) -> None:
    key = Key(item["pk"], item["sk"])
    mark = due_pointer("run", key, NOON + seconds * SECOND) | {"due_tries": 1}
    table.write(Update(key, set=mark, condition=still_due(item)))


def test_pages_and_items_are_those_of_the_table_in_memory() -> None:
    generated, memory = tables()
    assert_alike(generated, memory)
    keys = [crowd.key(number) for crowd in CROWDS for number in range(0, crowd.size, 7)]
    keys.append(Key("acme#CHAT#chat_99999999999", "RUN#00000000000000000000000001"))
    assert generated.get_many(keys) == memory.get_many(keys)
    assert [generated.get(key) for key in keys] == [memory.get(key) for key in keys]


def test_they_are_still_when_marks_were_moved_cleared_and_moved_again() -> None:
    generated, memory = tables()
    for position, number in enumerate((0, 1, 2, 50, 120, 149)):
        key = CROWDS[0].key(number)
        for table in (generated, memory):
            item = table.get(key)
            assert item is not None
            move(table, item, position - 3)
    for key, after in ((CROWDS[0].key(50), {"due_tries": 2}), (CROWDS[1].key(3), {"gsi2sk": None})):
        for table in (generated, memory):
            item = table.get(key)
            assert item is not None
            table.write(Update(key, set=after, condition=still_due(item)))
    assert_alike(generated, memory)
    assert generated.get(CROWDS[0].key(50)) == memory.get(CROWDS[0].key(50))


def test_a_stale_reading_moves_nothing() -> None:
    generated, memory = tables()
    item = generated.get(CROWDS[0].key(5))
    assert item is not None
    for table in (generated, memory):
        move(table, item, 60)
        with pytest.raises(ConditionFailed):
            move(table, item, 120)
    gone = {"pk": "acme#CHAT#chat_1", "sk": "RUN#1", "gsi2pk": "DUE#run#0", "gsi2sk": "x"}
    with pytest.raises(ConditionFailed):
        move(generated, gone, 60)
    assert_alike(generated, memory)


def test_finished_item_is_deleted() -> None:
    generated, _ = tables()
    item = generated.get(CROWDS[0].key(9))
    assert item is not None
    move(generated, item, 60)
    assert generated.finish(CROWDS[0].key(9))
    assert generated.finish(CROWDS[0].key(10))
    assert not generated.finish(CROWDS[0].key(10))
    assert generated.get(CROWDS[0].key(9)) is None
    shards = range(DUE_SHARDS)
    left = [len(page.items) for shard in shards for page in pages(generated, "run", shard, 1_000)]
    assert sum(left) == CROWDS[0].size + CROWDS[1].size - 2
    assert not generated.changed


def test_unsupported_call_fails() -> None:
    generated, _ = tables()
    with pytest.raises(NotImplementedError):
        generated.query(Query("acme#CHAT#chat_1"))
    with pytest.raises(NotImplementedError):
        generated.transact([Put(Key("a", "b"), {})])
    with pytest.raises(NotImplementedError):
        generated.write(Put(Key("a", "b"), {}))
    with pytest.raises(NotImplementedError):
        generated.query(Query("a", index="gsi1", limit=1))


@pytest.mark.parametrize("kind", KINDS)
def test_generated_item_equals_the_item_of_the_model(kind: DueKind) -> None:
    crowd = Crowd(kind, 100, NOON)
    for number in (0, 7, 99):
        whole = KINDS[kind].made(1_000_000_000 + number, NOON)
        marks = {"gsi2pk", "gsi2sk", "due_tries"}
        expected = {n: v for n, v in whole.items() if n not in marks and v is not None}
        made = crowd.item(number)
        key = crowd.key(number)
        # The list of an agent's runs is no business of who looks for what is due.
        made.pop("gsi1sk", None)
        expected.pop("gsi1sk", None)
        assert made == expected | key._asdict()
        assert crowd.number(key) == number
        assert due_pointer(kind, key, crowd.at(number))["gsi2sk"] == crowd.sort_key(number)
        if "gsi2pk" in whole:
            assert whole["gsi2sk"].endswith(f"#{key.pk}|{key.sk}")


def test_a_page_of_more_than_a_megabyte_is_several_calls() -> None:
    meter = CallMeter(FixedClock(NOON), Pace(7, 2, 1_024))
    table = GeneratedTable([Crowd("run", 60_000, NOON)], meter)
    page = table.query(Query(due_partition("run", 0), index="gsi2", limit=60_000))
    assert 6_000 < len(page.items) < 9_000
    assert meter.calls["query_index"] == 1 + meter.size // (1 << 20)
    assert meter.calls["query_index"] > 1
    assert meter.reads == pytest.approx(meter.size / 8_192, rel=0.01)
