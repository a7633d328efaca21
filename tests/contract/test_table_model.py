"""Whatever is written in whatever order, the table in memory stays what DynamoDB would be."""

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skein.adapters.dynamodb.table import DynamoTable
from skein.adapters.system import SystemClock
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
    Item,
    Key,
    Missing,
    Page,
    Present,
    Put,
    Query,
    Update,
    Write,
)
from skein.ports import Table
from skein.settings import Settings
from tests.fakes.table import MemoryTable
from tests.support.examples import examples

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SORT_KEYS = ("META", "MSG#1", "ü#\U0001f600")
NAMES = ("a", "name", "x.y")
COUNTER = "n"

numbers = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.25, 10**30])
scalars = (
    st.none() | st.booleans() | numbers | st.text("ab#\n😀", max_size=3) | st.binary(max_size=2)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text("ab", min_size=1, max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
ordered = numbers | st.text("ab", max_size=2) | st.binary(max_size=2)
names = st.sampled_from((*NAMES, COUNTER))
conditions: st.SearchStrategy[Condition] = st.recursive(
    st.just(Exists())
    | st.just(Missing())
    | st.builds(Absent, names)
    | st.builds(Present, names)
    | st.builds(Is, names, values)
    | st.builds(Below, names, ordered),
    lambda inner: (
        st.builds(AllOf, st.lists(inner, max_size=2).map(tuple))
        | st.builds(AnyOf, st.lists(inner, max_size=2).map(tuple))
    ),
    max_leaves=3,
)
index_sort_keys = st.none() | st.sampled_from(["1", "2"])


@st.composite
def attributes(draw: st.DrawFn, partition: str) -> Item:
    item: Item = draw(st.dictionaries(st.sampled_from(NAMES), values, max_size=2))
    in_index = draw(st.sampled_from([None, partition]))
    return item | {"gsi1pk": in_index, "gsi1sk": draw(index_sort_keys)}


@st.composite
def writes(draw: st.DrawFn, partition: str, sk: str) -> Write:
    at = Key(partition, sk)
    condition = draw(st.none() | conditions)
    match draw(st.sampled_from(["put", "update", "delete", "check"])):
        case "put":
            return Put(at, draw(attributes(partition)), condition)
        case "update":
            added = draw(st.dictionaries(st.just(COUNTER), st.integers(-5, 5), max_size=1))
            return Update(at, draw(attributes(partition)), added, condition)
        case "delete":
            return Delete(at, condition)
        case _:
            return Check(at, condition or Exists())


@st.composite
def transactions(draw: st.DrawFn, partition: str) -> list[Write]:
    chosen = draw(st.lists(st.sampled_from(SORT_KEYS), min_size=1, unique=True))
    return [draw(writes(partition, sk)) for sk in chosen]


def outcome(table: Table, batch: list[Write]) -> frozenset[int]:
    """Write, and say which conditions failed."""
    try:
        if len(batch) == 1:
            table.write(batch[0])
        else:
            table.transact(batch)
    except ConditionFailed as error:
        return error.failed
    return frozenset()


def indexed(page: Page) -> dict[str, list[tuple[Any, ...]]]:
    """What stands at each place of an index, in order; DynamoDB leaves the order of equals open."""
    places: dict[str, list[tuple[Any, ...]]] = {}
    for item in page.items:
        places.setdefault(item["gsi1sk"], []).append(tuple(sorted(item.items())))
    return {position: sorted(items) for position, items in places.items()}


def sorted_items(page: Page) -> list[Any]:
    """The items in their order, with attributes in one order; `repr` then tells 1 from True."""
    return [_sorted(item) for item in page.items]


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.engine
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_memory_and_engine_never_differ(
    engine_client: "DynamoDBClient", data: st.DataObject
) -> None:
    engine: Table = DynamoTable(engine_client, Settings().table_name, SystemClock())
    memory: Table = MemoryTable()
    partition = f"test#CHAT#{uuid4().hex}"
    for batch in data.draw(st.lists(transactions(partition), max_size=6)):
        assert outcome(memory, batch) == outcome(engine, batch), batch
        here, there = memory.query(Query(partition)), engine.query(Query(partition))
        assert repr(sorted_items(here)) == repr(sorted_items(there)), batch
        in_memory = memory.query(Query(partition, index="gsi1", limit=9))
        in_engine = engine.query(Query(partition, index="gsi1", limit=9))
        assert indexed(in_memory) == indexed(in_engine), batch
        assert list(indexed(in_memory)) == list(indexed(in_engine)), batch
