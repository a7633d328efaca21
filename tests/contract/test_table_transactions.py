"""Transactions happen as a whole or not at all, on every table."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from skein.errors import ConditionFailed, TooLarge
from skein.models.common.storage import (
    Absent,
    Below,
    Check,
    Delete,
    Exists,
    Is,
    Key,
    Missing,
    Present,
    Put,
    Query,
    Update,
    Write,
)
from skein.ports import Table

RACERS = 8


def test_all_kinds_of_writes_happen_together(table: Table, pk: str) -> None:
    put, updated, created, deleted, checked = (Key(pk, name) for name in "abcde")
    for key in (updated, deleted, checked):
        table.write(Put(key, {"n": 1, "gone": 1}))
    table.transact(
        [
            Put(put, {"new": True}, condition=Missing()),
            Update(updated, set={"gone": None}, add={"n": 1}, condition=Is("n", 1)),
            Update(created, add={"n": 1}),
            Delete(deleted, condition=Exists()),
            Check(checked, Below("n", 2)),
        ]
    )
    assert table.query(Query(pk)).items == (
        {"pk": pk, "sk": "a", "new": True},
        {"pk": pk, "sk": "b", "n": 2},
        {"pk": pk, "sk": "c", "n": 1},
        {"pk": pk, "sk": "e", "n": 1, "gone": 1},
    )


def test_one_failed_condition_stops_every_write_and_is_named(table: Table, pk: str) -> None:
    table.write(Put(Key(pk, "there"), {"n": 1}))
    with pytest.raises(ConditionFailed) as caught:
        table.transact(
            [
                Put(Key(pk, "a"), {}),
                Update(Key(pk, "there"), add={"n": 1}, condition=Is("n", 1)),
                Check(Key(pk, "b"), Exists()),
                Delete(Key(pk, "c")),
            ]
        )
    assert caught.value.failed == {2}
    assert table.query(Query(pk)).items == ({"pk": pk, "sk": "there", "n": 1},)


def test_every_failed_position_is_named(table: Table, pk: str) -> None:
    writes: list[Write] = [
        Put(Key(pk, "a"), {}, condition=Exists()),
        Put(Key(pk, "b"), {}),
        Update(Key(pk, "c"), set={"x": 1}, condition=Present("x")),
        Delete(Key(pk, "d"), condition=Missing()),
        Delete(Key(pk, "e"), condition=Exists()),
        Check(Key(pk, "f"), Absent("x")),
        Check(Key(pk, "g"), Exists()),
    ]
    with pytest.raises(ConditionFailed) as caught:
        table.transact(writes)
    assert caught.value.failed == {0, 2, 4, 6}
    assert table.query(Query(pk)).items == ()


def test_an_item_cannot_be_written_twice_at_once(table: Table, pk: str) -> None:
    key = Key(pk, "a")
    with pytest.raises(ValueError, match="twice"):
        table.transact([Put(key, {}), Check(key, Missing())])
    assert table.get(key) is None


def test_a_hundred_writes_fit_and_one_more_does_not(table: Table, pk: str) -> None:
    writes = [Put(Key(pk, f"{n:03d}"), {"n": n}) for n in range(101)]
    with pytest.raises(ValueError, match="at most 100"):
        table.transact(writes)
    assert table.query(Query(pk)).items == ()
    table.transact(writes[:100])
    assert [item["n"] for item in table.query(Query(pk)).items] == list(range(100))


def test_empty_transaction_succeeds(table: Table) -> None:
    table.transact([])


def test_more_than_four_megabytes_do_not_fit(exact_table: Table, pk: str) -> None:
    text = "x" * 390_000
    with pytest.raises(TooLarge):
        exact_table.transact([Put(Key(pk, f"{n:02d}"), {"text": text}) for n in range(11)])
    assert exact_table.query(Query(pk)).items == ()


def test_one_item_that_is_too_large_stops_every_write(table: Table, pk: str) -> None:
    with pytest.raises(TooLarge):
        table.transact([Put(Key(pk, "a"), {}), Put(Key(pk, "b"), {"text": "x" * 410_000})])
    assert table.query(Query(pk)).items == ()


def race(racer: Callable[[int], None]) -> int:
    """Let racers start at the same moment; how many of them met no failed condition."""
    barrier = Barrier(RACERS)

    def run(number: int) -> bool:
        barrier.wait()
        try:
            racer(number)
        except ConditionFailed:
            return False
        return True

    with ThreadPoolExecutor(RACERS) as pool:
        return sum(pool.map(run, range(RACERS)))


def test_exactly_one_of_many_wins_an_item(exact_table: Table, pk: str) -> None:
    key = Key(pk, "META")
    won = race(lambda n: exact_table.write(Put(key, {"by": n}, condition=Missing())))
    assert won == 1


def test_exactly_one_of_many_wins_a_transaction(exact_table: Table, pk: str) -> None:
    counter = Key(pk, "META")
    exact_table.write(Put(counter, {"last_seq": 0}))

    def post(number: int) -> None:
        exact_table.transact(
            [
                Update(counter, set={"last_seq": 1}, condition=Is("last_seq", 0)),
                Put(Key(pk, f"MSG#{number}"), {"by": number}),
            ]
        )

    assert race(post) == 1
    assert len(exact_table.query(Query(pk, first="MSG#")).items) == 1


def test_no_count_is_lost_when_many_add_at_once(exact_table: Table, pk: str) -> None:
    key = Key(pk, "META")

    def add(number: int) -> None:
        exact_table.write(Update(key, add={"n": 1}))
        exact_table.transact(
            [Update(key, add={"n": 1}), Put(Key(pk, f"x{number}"), {"by": number})]
        )

    assert race(add) == RACERS
    item = exact_table.get(key)
    assert item is not None
    assert item["n"] == 2 * RACERS
