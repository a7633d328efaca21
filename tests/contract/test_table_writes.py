"""Writes of one item do what they say, and values come back as they went in, on every table."""

from datetime import UTC, datetime
from typing import Any

import pytest

from skein.errors import TooLarge
from skein.models.common.storage import Delete, Key, Put, Query, Update, Write
from skein.ports import Table
from tests.support.each import check_each

KB = 1024


def test_a_put_replaces_the_whole_item(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"a": 1, "b": 2}))
    table.write(Put(key, {"b": 3}))
    assert table.get(key) == {"pk": pk, "sk": "META", "b": 3}


def test_an_item_can_be_put_as_it_was_read(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"a": 1}))
    item = table.get(key)
    assert item is not None
    table.write(Put(key, item | {"a": 2}))
    assert table.get(key) == {"pk": pk, "sk": "META", "a": 2}


def test_update_of_a_missing_item_creates_it_and_counts_from_zero(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Update(key, set={"a": "x"}, add={"n": 5}))
    assert table.get(key) == {"pk": pk, "sk": "META", "a": "x", "n": 5}


def test_an_update_leaves_other_attributes_alone(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"a": 1, "n": 1, "gone": 1, "kept": {"x": [1]}}))
    table.write(Update(key, set={"a": 2, "gone": None, "never": None}, add={"n": -3}))
    assert table.get(key) == {"pk": pk, "sk": "META", "a": 2, "n": -2, "kept": {"x": [1]}}


def test_an_update_that_only_removes_still_creates_the_item(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Update(key, set={"a": None}))
    assert table.get(key) == {"pk": pk, "sk": "META"}


def test_adding_to_a_fraction_stays_exact(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"n": 0.1}))
    table.write(Update(key, add={"n": 2}))
    assert table.get(key) == {"pk": pk, "sk": "META", "n": 2.1}


def test_deleting_a_missing_item_succeeds(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Delete(key))
    table.write(Put(key, {"a": 1}))
    table.write(Delete(key))
    table.write(Delete(key))
    assert table.get(key) is None


VALUES: list[Any] = [
    "",
    "plain",
    "line\nbreak \u2028 \x00 \U0001f600 \uffff",
    0,
    -1,
    2**62,
    12345678901234567890123456789012345678,
    0.1,
    -2.5e-7,
    1.5e-100,
    True,
    False,
    b"",
    bytes(range(256)),
    [],
    {},
    [1, [2.5, [b"x", None]], {"a": {"b": [True]}}],
    {"#a": {"%23": 1}, "a.b": "", " ": "space"},
]


def test_a_value_comes_back_as_it_went_in(table: Table, pk: str) -> None:
    def check(value: Any) -> None:
        key = Key(pk, "META")
        table.write(Put(key, {"put": value}))
        table.write(Update(key, set={"set": value}))
        item = table.get(key)
        assert item == {"pk": pk, "sk": "META", "put": value, "set": value}
        assert item is not None
        assert type(item["put"]) is type(value)

    check_each({repr(value): value for value in VALUES}, check)


@pytest.mark.parametrize(
    ("value", "stored"), [(2.0, 2), (1e20, 10**20), (-0.0, 0), ((1, 2), [1, 2])], ids=repr
)
def test_equal_values_are_stored_with_the_same_type(
    table: Table, pk: str, value: Any, stored: Any
) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"v": value}))
    item = table.get(key)
    assert item is not None
    assert item["v"] == stored
    assert type(item["v"]) is type(stored)


def test_top_level_none_attribute_is_not_stored(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"a": None, "b": {"c": None}}))
    assert table.get(key) == {"pk": pk, "sk": "META", "b": {"c": None}}


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**38 + 1, 1e-200, "\ud800", {"": 1}]
)
def test_a_value_that_no_table_can_hold_is_refused(table: Table, pk: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"hold|surrogates|name"):
        table.write(Put(Key(pk, "META"), {"v": value}))


@pytest.mark.parametrize("value", [{1, 2}, datetime(2026, 1, 1, tzinfo=UTC), object()])
def test_value_of_unsupported_type_raises_type_error(table: Table, pk: str, value: Any) -> None:
    with pytest.raises(TypeError):
        table.write(Put(Key(pk, "META"), {"v": value}))


@pytest.mark.parametrize("sk", ["a#b", "100%25", "#", "ü#\U0001f600", " ", "MSG#000000000001"])
def test_any_text_can_be_a_key(table: Table, pk: str, sk: str) -> None:
    key = Key(f"{pk}#{sk}", sk)
    table.write(Put(key, {"a": 1}))
    assert table.get(key) == {"pk": key.pk, "sk": sk, "a": 1}
    assert table.get_many([key]) == {key: {"pk": key.pk, "sk": sk, "a": 1}}
    assert table.query(Query(key.pk, first=sk, last=sk)).items == (
        {"pk": key.pk, "sk": sk, "a": 1},
    )


def test_changing_a_written_or_read_item_leaves_the_table_unchanged(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    written = {"list": [1], "map": {"a": 1}}
    table.write(Put(key, written))
    written["list"].append(2)  # type: ignore[attr-defined]
    read = table.get(key)
    assert read is not None
    read["map"]["a"] = 2
    assert table.get(key) == {"pk": pk, "sk": "META", "list": [1], "map": {"a": 1}}


UNFIT: dict[str, Write] = {
    "no partition": Put(Key("", "x"), {}),
    "no sort key": Put(Key("x", ""), {}),
    "partition too long": Delete(Key("x" * 2049, "x")),
    "sort key too long": Delete(Key("x", "ü" * 513)),
    "another item's key": Put(Key("x", "x"), {"sk": "y"}),
    "empty index key": Put(Key("x", "x"), {"gsi1pk": "", "gsi1sk": "y"}),
    "index key no text": Put(Key("x", "x"), {"gsi2pk": 1, "gsi2sk": "y"}),
    "index key set empty": Update(Key("x", "x"), set={"gsi1sk": ""}),
    "index key added to": Update(Key("x", "x"), add={"gsi1sk": 1}),
    "own key changed": Update(Key("x", "x"), set={"sk": "y"}),
    "set and incremented": Update(Key("x", "x"), set={"n": 1}, add={"n": 1}),
    "nothing to change": Update(Key("x", "x")),
}


def test_a_write_that_makes_no_sense_is_refused(table: Table) -> None:
    def check(write: Write) -> None:
        with pytest.raises(ValueError, match=r".+"):
            table.write(write)
        with pytest.raises(ValueError, match=r".+"):
            table.transact([write])

    check_each(UNFIT, check)


def test_adding_to_a_text_is_refused(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"n": "1"}))
    with pytest.raises(ValueError, match=r".+"):
        table.write(Update(key, add={"n": 1}))
    with pytest.raises(ValueError, match=r".+"):
        table.transact([Update(key, add={"n": 1})])


def test_an_item_of_just_400_kb_fits(exact_table: Table, pk: str) -> None:
    key = Key(pk, "META")
    own = len("pk") + len(pk) + len("sk") + len("META") + len("v")
    exact_table.write(Put(key, {"v": "x" * (400 * KB - own)}))
    with pytest.raises(TooLarge):
        exact_table.write(Put(key, {"v": "x" * (400 * KB - own + 1)}))


def test_an_item_that_grows_beyond_400_kb_is_refused_and_stays(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"a": "x" * 300 * KB}))
    with pytest.raises(TooLarge):
        table.write(Update(key, set={"b": "x" * 101 * KB}))
    with pytest.raises(TooLarge):
        table.transact([Update(key, set={"b": "x" * 101 * KB})])
    assert table.get(key) == {"pk": pk, "sk": "META", "a": "x" * 300 * KB}
