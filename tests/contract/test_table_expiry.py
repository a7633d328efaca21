"""What has expired is as good as gone, however long the table takes to drop it."""

import pytest

from skein.errors import ConditionFailed
from skein.models.common.storage import Check, Key, Missing, Put, Query, gone
from skein.ports import Table
from tests.fakes.system import FixedClock


@pytest.fixture
def filled(table: Table, pk: str, clock: FixedClock) -> Table:
    """Items 0 to 5, of which every other one expires in a minute."""
    soon = int(clock.now().timestamp()) + 60
    for n in range(6):
        table.write(Put(Key(pk, f"{n}"), {"n": n, "expires_at": None if n % 2 else soon}))
    return table


def test_no_read_returns_expired_items(filled: Table, pk: str, clock: FixedClock) -> None:
    keys = [Key(pk, f"{n}") for n in range(6)]
    assert len(filled.query(Query(pk)).items) == len(filled.get_many(keys)) == 6
    clock.advance(60)
    assert [item["n"] for item in filled.query(Query(pk)).items] == [1, 3, 5]
    assert sorted(key.sk for key in filled.get_many(keys)) == ["1", "3", "5"]
    assert filled.get(keys[0]) is None
    assert filled.get(keys[1]) is not None


@pytest.mark.parametrize("newest_first", [False, True])
def test_page_is_filled_with_items_that_have_not_expired(
    filled: Table, pk: str, clock: FixedClock, *, newest_first: bool
) -> None:
    clock.advance(61)
    page = filled.query(Query(pk, limit=2, newest_first=newest_first))
    assert [item["n"] for item in page.items] == ([5, 3] if newest_first else [1, 3])
    assert page.next_start is not None
    rest = filled.query(Query(pk, limit=2, newest_first=newest_first, start=page.next_start))
    assert [item["n"] for item in rest.items] == ([1] if newest_first else [5])


def test_conditions_see_expired_items(filled: Table, pk: str, clock: FixedClock) -> None:
    clock.advance(61)
    with pytest.raises(ConditionFailed):
        filled.write(Put(Key(pk, "0"), {"n": 10}, Missing()))
    filled.write(Put(Key(pk, "0"), {"n": 10}, gone(clock.now())))
    assert filled.get(Key(pk, "0")) is not None


def test_item_is_expired_exactly_if_no_read_returns_it(
    filled: Table, pk: str, clock: FixedClock
) -> None:
    for seconds in (59.9, 0.1, 0.5):
        clock.advance(seconds)
        hidden = filled.get(Key(pk, "0")) is None
        try:
            filled.write(Check(Key(pk, "0"), gone(clock.now())))
        except ConditionFailed:
            assert not hidden
        else:
            assert hidden
    assert hidden
