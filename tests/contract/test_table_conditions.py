"""Conditions hold when they should, on every table."""

from typing import Any

import pytest

from skein.errors import ConditionFailed
from skein.models.common.storage import (
    Absent,
    AllOf,
    AnyOf,
    Below,
    Check,
    Condition,
    Delete,
    Exists,
    Is,
    Key,
    Missing,
    Present,
    Put,
    Update,
    Write,
    all_of,
    any_of,
)
from skein.ports import Table
from tests.support.each import check_each

ITEM: dict[str, Any] = {
    "count": 7,
    "ratio": 0.25,
    "name": "bee",
    "data": b"\x01\x02",
    "yes": True,
    "size": 1,
    "flags": {"a": [True]},
    "wait": {"chat": "chat_1", "after": 3, "of": ["a", {"b": None}]},
    "list": [1, "1"],
}

HOLD: list[Condition] = [
    Exists(),
    Present("name"),
    Absent("nickname"),
    Is("nickname", None),
    Is("name", "bee"),
    Is("count", 7),
    Is("count", 7.0),
    Is("ratio", 0.25),
    Is("data", b"\x01\x02"),
    Is("yes", value=True),
    Is("wait", {"of": ["a", {"b": None}], "after": 3, "chat": "chat_1"}),
    Is("wait", {"of": ("a", {"b": None}), "after": 3.0, "chat": "chat_1"}),
    Is("list", [1, "1"]),
    Below("count", 8),
    Below("count", 7.5),
    Below("ratio", 1),
    Below("name", "bef"),
    Below("name", "bee "),
    Below("data", b"\x01\x03"),
    all_of(),
    all_of(Exists()),
    all_of(Exists(), Is("count", 7), Below("name", "c")),
    any_of(Missing(), Is("count", 7)),
    any_of(all_of(Missing(), Exists()), all_of(Present("name"), any_of(Absent("x")))),
    AllOf((AnyOf((AllOf((AnyOf((Exists(),)),)),)),)),
]

FAIL: list[Condition] = [
    Missing(),
    Present("nickname"),
    Absent("name"),
    Is("name", None),
    Is("name", "Bee"),
    Is("name", b"bee"),
    Is("nickname", "bee"),
    Is("count", 8),
    Is("count", "7"),
    Is("wait", {"chat": "chat_1", "after": 3}),
    Is("wait", {"chat": "chat_1", "after": 4, "of": ["a", {"b": None}]}),
    Is("list", ["1", 1]),
    Below("count", 7),
    Below("count", -1),
    Below("name", "bee"),
    Below("name", "B"),
    Below("nickname", "z"),
    Below("nickname", 1),
    any_of(),
    any_of(Missing()),
    all_of(Exists(), Missing()),
    any_of(all_of(Exists(), Is("count", 8)), Absent("name")),
]


def test_write_with_a_true_condition_succeeds(table: Table, pk: str) -> None:
    def check(condition: Condition) -> None:
        key = Key(pk, "META")
        table.write(Put(key, ITEM))
        table.write(Update(key, set={"changed": 1}, condition=condition))
        assert table.get(key) == ITEM | {"pk": pk, "sk": "META", "changed": 1}

    check_each({repr(condition): condition for condition in HOLD}, check)


def test_a_condition_that_fails_changes_nothing(table: Table, pk: str) -> None:
    def check(condition: Condition) -> None:
        key = Key(pk, "META")
        table.write(Put(key, ITEM))
        with pytest.raises(ConditionFailed) as caught:
            table.write(Update(key, set={"changed": 1}, condition=condition))
        assert caught.value.failed == {0}
        assert table.get(key) == ITEM | {"pk": pk, "sk": "META"}

    check_each({repr(condition): condition for condition in FAIL}, check)


@pytest.mark.parametrize(
    "condition",
    [
        Below("count", "8"),
        Below("name", 8),
        Below("data", "\x03"),
        Below("yes", 2),
        Below("wait", "z"),
        Is("yes", 1),
        Is("size", value=True),
        Is("flags", {"a": [1]}),
    ],
    ids=repr,
)
def test_values_of_two_types_are_neither_equal_nor_below_each_other(
    exact_table: Table, pk: str, condition: Condition
) -> None:
    key = Key(pk, "META")
    exact_table.write(Put(key, ITEM))
    with pytest.raises(ConditionFailed):
        exact_table.write(Check(key, condition))


@pytest.mark.parametrize("value", [True, {"a": 1}, [1], None])
def test_below_condition_on_unordered_value_raises_value_error(
    table: Table, pk: str, value: Any
) -> None:
    with pytest.raises(ValueError, match="order"):
        table.write(Delete(Key(pk, "META"), condition=Below("count", value)))


@pytest.mark.parametrize(
    "condition",
    [Missing(), Absent("name"), Is("name", None), any_of(Missing(), Is("a", 1)), all_of()],
    ids=repr,
)
def test_an_item_that_is_not_there_has_no_attributes(
    table: Table, pk: str, condition: Condition
) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"n": 1}, condition=condition))
    assert table.get(key) == {"pk": pk, "sk": "META", "n": 1}


@pytest.mark.parametrize(
    "condition",
    [Exists(), Present("name"), Is("name", "bee"), Below("count", 9), any_of()],
    ids=repr,
)
def test_condition_on_missing_item_fails_unless_it_requires_absence(
    table: Table, pk: str, condition: Condition
) -> None:
    key = Key(pk, "META")
    with pytest.raises(ConditionFailed):
        table.write(Put(key, {"n": 1}, condition=condition))
    assert table.get(key) is None


@pytest.mark.parametrize("kind", ["put", "update", "delete", "check"])
def test_every_kind_of_write_minds_its_condition(table: Table, pk: str, kind: str) -> None:
    key = Key(pk, "META")
    table.write(Put(key, {"n": 1}))

    def write(condition: Condition) -> Write:
        match kind:
            case "put":
                return Put(key, {"n": 2}, condition=condition)
            case "update":
                return Update(key, add={"n": 1}, condition=condition)
            case "delete":
                return Delete(key, condition=condition)
            case _:
                return Check(key, condition)

    with pytest.raises(ConditionFailed) as caught:
        table.write(write(Is("n", 5)))
    assert caught.value.failed == {0}
    assert table.get(key) == {"pk": pk, "sk": "META", "n": 1}
    table.write(write(Is("n", 1)))
    left = table.get(key)
    assert (None if left is None else left["n"]) == {"delete": None, "check": 1}.get(kind, 2)


def test_reserved_and_odd_attribute_names_are_taken_as_they_are(table: Table, pk: str) -> None:
    key = Key(pk, "META")
    odd = {"name": "n", "status": "s", "a.b": 1, "#n0": 2, ":v0": 3, "ttl": 4, "ü": 5}
    table.write(Put(key, odd, condition=all_of(*(Absent(name) for name in odd))))
    table.write(Update(key, set={"a.b": 2}, condition=all_of(*(Is(n, v) for n, v in odd.items()))))
    assert table.get(key) == odd | {"pk": pk, "sk": "META", "a.b": 2}
