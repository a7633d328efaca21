"""The vector index, on every engine."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from skein.errors import ConditionFailed
from skein.models.common.embedding import Vector
from skein.models.common.storage import Delete, Item, Key, Missing, Put, Update
from skein.models.common.vector_search import DIMENSIONS, DISTANCE, VectorSearch
from skein.ports import Table, VectorIndex
from tests.fakes.system import FixedClock

MODEL = "static"


class Indexed(NamedTuple):
    """A table and its vector index, with a partition that no other test uses."""

    table: Table
    vectors: VectorIndex
    partition: str

    def put(self, name: str, degrees: float, **more: Any) -> Key:
        """Write a passage whose vector points in a direction."""
        key, item = passage(self.partition, name, degrees, **more)
        self.table.write(Put(key, item))
        return key

    def nearest(self, degrees: float = 0, **more: Any) -> list[Item]:
        search = {"partition": self.partition, "model": MODEL, "vector": direction(degrees)}
        return self.vectors.nearest(VectorSearch(**{**search, **more}))

    def names(self, degrees: float = 0, **more: Any) -> list[str]:
        return [item["chat_id"] for item in self.nearest(degrees, **more)]


def passage(partition: str, name: str, degrees: float, **more: Any) -> tuple[Key, Item]:
    return Key(f"{partition}#CHAT#{name}", "RECALL#agt_a#000000000001#00"), {
        "chat_id": name,
        "seq": 1,
        "recall_scope": partition,
        "recall_model": MODEL,
        "vector": list(direction(degrees)),
        "recall_author": "usr_ann",
        "recall_month": "2026-02",
        "stems": "walk dog",
        "weight": 0.0125,
        **more,
    }


def direction(degrees: float, length: float = 1) -> Vector:
    radians = math.radians(degrees)
    first, second = round(math.cos(radians), 4), round(math.sin(radians), 4)
    return (first * length, second * length, *[0.0] * (DIMENSIONS - 2))


@pytest.fixture
def indexed(vector_engine: tuple[Table, VectorIndex]) -> Indexed:
    return Indexed(*vector_engine, f"test#AGENT#{uuid4().hex}")


def test_nearest_passages_come_in_order_of_their_cosine(indexed: Indexed) -> None:
    for name, degrees in (("far", 170), ("near", 10), ("middle", 80)):
        indexed.put(name, degrees)
    assert indexed.names() == ["near", "middle", "far"]
    assert indexed.names(180) == ["far", "middle", "near"]


def test_nearest_lengths_of_vectors_do_not_matter(indexed: Indexed) -> None:
    indexed.put("long", 60, vector=list(direction(60, 3.5)))
    indexed.put("short", 20, vector=list(direction(20, 0.25)))
    assert indexed.names(vector=direction(0, 7)) == ["short", "long"]


def test_nearest_returns_the_passage_without_its_vector(indexed: Indexed) -> None:
    key = indexed.put("a", 0)
    _, item = passage(indexed.partition, "a", 0)
    del item["vector"]
    [found] = indexed.nearest(60)
    assert found.pop(DISTANCE) == pytest.approx(0.5, abs=0.001)
    assert found == item | {"pk": key.pk, "sk": key.sk}


def test_nearest_returns_at_most_the_limit(indexed: Indexed) -> None:
    for degrees in range(5):
        indexed.put(str(degrees), degrees)
    assert indexed.names(limit=2) == ["0", "1"]


def test_nearest_sees_one_partition_only(indexed: Indexed) -> None:
    indexed.put("mine", 30)
    other = indexed._replace(partition=f"{indexed.partition}#user:1")
    other.put("other", 0)
    assert indexed.names() == ["mine"]
    assert other.names() == ["other"]


def test_nearest_sees_one_model_only(indexed: Indexed) -> None:
    indexed.put("old", 0, recall_model="older")
    indexed.put("new", 30)
    assert indexed.names() == ["new"]
    assert indexed.names(model="older") == ["old"]


def test_nearest_of_an_empty_partition_is_empty(indexed: Indexed) -> None:
    assert indexed.names() == []


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"author": "usr_ann"}, ["a", "c"]),
        ({"month": "2026-02"}, ["a", "b"]),
        ({"author": "usr_ann", "month": "2026-02"}, ["a"]),
        ({"author": "usr_cem"}, []),
    ],
)
def test_nearest_of_an_author_or_a_month_returns_those_alone(
    indexed: Indexed, filters: Mapping[str, Any], found: list[str]
) -> None:
    indexed.put("a", 0)
    indexed.put("b", 10, recall_author="usr_ben")
    indexed.put("c", 20, recall_month="2026-03")
    assert indexed.names(**filters) == found
    assert indexed.names(**filters, limit=1) == found[:1]


def test_nearest_after_an_overwrite_uses_the_new_vector(indexed: Indexed) -> None:
    indexed.put("a", 0)
    indexed.put("b", 30)
    assert indexed.names() == ["a", "b"]
    indexed.put("a", 90)
    assert indexed.names() == ["b", "a"]


def test_nearest_after_an_update_of_the_vector_uses_the_new_vector(indexed: Indexed) -> None:
    key = indexed.put("a", 0)
    indexed.put("b", 30)
    indexed.table.write(
        Update(key, set={"vector": list(direction(90)), "recall_author": "usr_ben"})
    )
    assert indexed.names() == ["b", "a"]
    assert indexed.names(author="usr_ben") == ["a"]


def test_nearest_does_not_return_a_deleted_passage(indexed: Indexed) -> None:
    key = indexed.put("a", 0)
    indexed.put("b", 30)
    assert indexed.names() == ["a", "b"]
    indexed.table.write(Delete(key))
    assert indexed.names() == ["b"]
    indexed.put("c", 20)
    assert indexed.names() == ["c", "b"]


def test_nearest_does_not_return_a_passage_that_lost_its_vector(indexed: Indexed) -> None:
    key = indexed.put("a", 0)
    indexed.table.write(Update(key, set={"vector": None, "recall_scope": None}))
    assert indexed.names() == []


def test_nearest_after_a_move_finds_the_passage_in_its_new_partition_only(indexed: Indexed) -> None:
    moved = indexed._replace(partition=f"{indexed.partition}#user:2")
    key = indexed.put("a", 0)
    assert indexed.names() == ["a"]
    indexed.table.write(Update(key, set={"recall_scope": moved.partition}))
    assert indexed.names() == []
    assert moved.names() == ["a"]


def test_nearest_does_not_return_an_expired_passage(indexed: Indexed, clock: FixedClock) -> None:
    indexed.put("a", 0, expires_at=int(clock.now().timestamp()) + 60)
    indexed.put("b", 30)
    assert indexed.names() == ["a", "b"]
    clock.advance(61)
    assert indexed.names() == ["b"]


def test_nearest_after_a_refused_transaction_finds_what_was_there(indexed: Indexed) -> None:
    indexed.put("a", 0)
    key, item = passage(indexed.partition, "b", 5)
    refused = Put(*passage(indexed.partition, "a", 90), condition=Missing())
    with pytest.raises(ConditionFailed):
        indexed.table.transact([Put(key, item), refused])
    assert indexed.names() == ["a"]


@pytest.mark.parametrize("limit", [0, 101])
def test_nearest_with_a_limit_that_aws_refuses_raises(indexed: Indexed, limit: int) -> None:
    with pytest.raises(ValueError, match="1 to 100"):
        indexed.nearest(limit=limit)


def test_nearest_with_a_vector_of_other_dimensions_raises(indexed: Indexed) -> None:
    with pytest.raises(ValueError, match="256 dimensions"):
        indexed.nearest(vector=(1.0, 0.0))
