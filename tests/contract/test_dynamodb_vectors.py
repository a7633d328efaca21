"""Requests and responses of DynamoDB's vector index, as its documentation has them."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from skein.adapters.aws.clients import Aws
from skein.adapters.dynamodb.table import dynamo_client
from skein.adapters.dynamodb.vectors import MISSING_INDEX, DynamoVectorIndex
from skein.errors import NoVectorIndex, Throttled
from skein.models.common.vector_search import DIMENSIONS, PASSAGE_ATTRIBUTES, VectorSearch
from skein.settings import Settings
from tests.fakes.system import FixedClock
from tests.support.builders import NOON

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE_NAME = Settings().table_name
ZEROS = (0.0,) * (DIMENSIONS - 2)
SEARCH = VectorSearch("acme#AGENT#agt_a", "static", (0.0125, -0.5, *ZEROS), limit=3)
FILTERED = replace(SEARCH, author="usr_ann", month="2026-02")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator["DynamoDBClient"]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    made = dynamo_client(Aws(Settings()))
    yield made
    made.close()


@pytest.fixture
def stub(client: "DynamoDBClient") -> Iterator[Stubber]:
    with Stubber(client) as stub:
        yield stub
        stub.assert_no_pending_responses()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
def index(client: "DynamoDBClient", clock: FixedClock) -> DynamoVectorIndex:
    return DynamoVectorIndex(client, TABLE_NAME, "recall", clock)


def request(condition: str, values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a search with this condition, whose names begin with four placeholders."""
    filters = ["recall_author", "recall_month"] if ":v2" in values else []
    names = ["recall_scope", "recall_model", *filters]
    names += [name for name in PASSAGE_ATTRIBUTES if name not in names]
    placeholders = {name: f"#n{position}" for position, name in enumerate(names)}
    return {
        "TableName": TABLE_NAME,
        "IndexName": "recall",
        "SearchVector": [{"N": "0.0125"}, {"N": "-0.5"}, *[{"N": "0"}] * (DIMENSIONS - 2)],
        "SearchConditionExpression": condition,
        "ProjectionExpression": ", ".join(placeholders[name] for name in PASSAGE_ATTRIBUTES),
        "TopK": 3,
        "ExpressionAttributeNames": {to: name for name, to in placeholders.items()},
        "ExpressionAttributeValues": {
            ":v0": {"S": "acme#AGENT#agt_a"},
            ":v1": {"S": "static"},
            **values,
        },
    }


PLAIN_REQUEST = request("#n0 = :v0 AND #n1 = :v1", {})
FILTERED_REQUEST = request(
    "#n0 = :v0 AND #n1 = :v1 AND #n2 = :v2 AND #n3 = :v3",
    {":v2": {"S": "usr_ann"}, ":v3": {"S": "2026-02"}},
)


def result(name: str, **more: Any) -> dict[str, Any]:
    item = {
        "pk": {"S": f"acme#CHAT#{name}"},
        "sk": {"S": "RECALL#agt_a#000000000001#00"},
        "chat_id": {"S": name},
        "created_at": {"N": "100"},
        **more,
    }
    return {"Item": item, "Score": 0.25}


def found(*results: dict[str, Any]) -> dict[str, Any]:
    return {
        "SearchResults": list(results),
        "ConsumedCapacity": {"VectorSearchRequestBytes": 2048.0},
    }


def refuse(stub: Stubber, code: str, message: str = "", expected: Any = None) -> None:
    stub.add_client_error("search_vectors", code, message, 400, expected_params=expected)


def names(items: list[dict[str, Any]]) -> list[str]:
    return [item["chat_id"] for item in items]


def test_search_asks_for_the_nearest_passages_of_one_scope_and_model(
    index: DynamoVectorIndex, stub: Stubber
) -> None:
    stub.add_response("search_vectors", found(result("a"), result("b")), PLAIN_REQUEST)
    first, second = index.nearest(SEARCH)
    assert first == {
        "pk": "acme#CHAT#a",
        "sk": "RECALL#agt_a#000000000001#00",
        "chat_id": "a",
        "created_at": 100,
        "distance": 0.25,
    }
    assert second["chat_id"] == "b"


def test_search_of_an_author_and_a_month_compares_for_equality(
    index: DynamoVectorIndex, stub: Stubber
) -> None:
    stub.add_response("search_vectors", found(result("a")), FILTERED_REQUEST)
    assert names(index.nearest(FILTERED)) == ["a"]


def test_search_leaves_out_expired_passages(index: DynamoVectorIndex, stub: Stubber) -> None:
    expired = result("a", expires_at={"N": str(int(NOON.timestamp()))})
    stub.add_response("search_vectors", found(expired, result("b")), PLAIN_REQUEST)
    assert names(index.nearest(SEARCH)) == ["b"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ValidationException", "The table does not have the specified index: recall"),
        ("ValidationException", "Cannot search backfilling vector index: recall"),
        ("ResourceNotFoundException", "Requested resource not found"),
        ("UnknownOperationException", ""),
    ],
)
def test_search_without_a_usable_index_raises_and_logs_once(
    index: DynamoVectorIndex,
    stub: Stubber,
    clock: FixedClock,
    caplog: pytest.LogCaptureFixture,
    code: str,
    message: str,
) -> None:
    refuse(stub, code, message)
    with caplog.at_level(logging.WARNING), pytest.raises(NoVectorIndex):
        index.nearest(SEARCH)
    with pytest.raises(NoVectorIndex):
        index.nearest(SEARCH)  # without a call
    clock.advance(MISSING_INDEX.wait(1).total_seconds())
    refuse(stub, code, message)
    with pytest.raises(NoVectorIndex):
        index.nearest(SEARCH)
    [record] = caplog.records
    text = record.getMessage()
    assert text.startswith("no vector index, so recall searches by words only: ")
    assert message in text


def test_search_finds_an_index_that_became_ready(
    index: DynamoVectorIndex, stub: Stubber, clock: FixedClock
) -> None:
    refuse(stub, "ValidationException", "Cannot search backfilling vector index: recall")
    with pytest.raises(NoVectorIndex):
        index.nearest(SEARCH)
    clock.advance(MISSING_INDEX.wait(1).total_seconds())
    stub.add_response("search_vectors", found(result("a")), PLAIN_REQUEST)
    assert names(index.nearest(SEARCH)) == ["a"]


def test_search_of_a_table_without_an_index_calls_nothing(
    client: "DynamoDBClient", stub: Stubber, clock: FixedClock
) -> None:
    with pytest.raises(NoVectorIndex, match="none"):
        DynamoVectorIndex(client, TABLE_NAME, "", clock).nearest(SEARCH)


def test_search_that_is_throttled_once_is_repeated(
    index: DynamoVectorIndex, stub: Stubber, clock: FixedClock
) -> None:
    refuse(stub, "ThrottlingException")
    stub.add_response("search_vectors", found(result("a")), PLAIN_REQUEST)
    assert names(index.nearest(SEARCH)) == ["a"]
    assert len(clock.slept) == 1


def test_search_that_stays_throttled_raises(index: DynamoVectorIndex, stub: Stubber) -> None:
    for _ in range(2):
        refuse(stub, "ThrottlingException")
    with pytest.raises(Throttled):
        index.nearest(SEARCH)


def test_search_without_permission_raises_the_error_of_aws(
    index: DynamoVectorIndex, stub: Stubber
) -> None:
    refuse(stub, "AccessDeniedException", "not authorized to perform: dynamodb:SearchVectors")
    with pytest.raises(ClientError, match="not authorized"):
        index.nearest(SEARCH)


@pytest.mark.engine
def test_search_on_dynamodb_local_raises_no_vector_index(
    engine_client: "DynamoDBClient", clock: FixedClock
) -> None:
    with pytest.raises(NoVectorIndex):
        DynamoVectorIndex(engine_client, TABLE_NAME, "recall", clock).nearest(SEARCH)
