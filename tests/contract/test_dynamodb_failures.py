"""Failures that no test engine produces: conflicts, throttling and lost responses."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from skein.adapters.dynamodb.table import (
    CALL_RETRY,
    CONFLICT_RETRY,
    DynamoTable,
)
from skein.errors import (
    Ambiguous,
    ConditionFailed,
    Contention,
    SkeinError,
    Throttled,
    TooLarge,
    Unavailable,
)
from skein.models.common.storage import (
    Check,
    Delete,
    Exists,
    Key,
    Missing,
    Put,
    Query,
    Update,
    Write,
)
from skein.settings import Settings
from tests.fakes.system import FixedClock
from tests.support.aws_shapes import checked

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEY = Key("test#CHAT#chat_1", "META")
WRITES: list[Write] = [Put(KEY, {}, condition=Missing()), Update(KEY, add={"n": 1}), Delete(KEY)]
LOST = [
    ReadTimeoutError(endpoint_url="x"),
    ConnectionClosedError(endpoint_url="x"),
]
UNREACHED = [
    EndpointConnectionError(endpoint_url="x"),
    ConnectTimeoutError(endpoint_url="x"),
]


def answer(code: str, *, status: int = 400, message: str = "") -> ClientError:
    """An error that DynamoDB answers with."""
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, "Operation")


def canceled(*codes: str, message: str = "") -> ClientError:
    """A transaction that DynamoDB canceled, with the reason of each write."""
    response: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": "canceled"},
        "ResponseMetadata": {"HTTPStatusCode": 400},
        "CancellationReasons": [{"Code": code, "Message": message} for code in codes],
    }
    return ClientError(response, "TransactWriteItems")


class FailingClient:
    """Stands before a client, or before nothing, and fails as it is told.

    Attributes:
        before: What to raise, one for each call, instead of passing the call on.
        after: What to raise, one for each call, once the call has taken effect.
        requests: Every request that was made.
    """

    def __init__(self, client: "DynamoDBClient | None" = None) -> None:
        self.before: list[Exception] = []
        self.after: list[Exception] = []
        self.requests: list[dict[str, Any]] = []
        self._client = client

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self.requests.append(request)
            if self.before:
                raise self.before.pop(0)
            response = {} if self._client is None else getattr(self._client, operation)(**request)
            if self.after:
                raise self.after.pop(0)
            return response

        return call


@pytest.fixture(autouse=True)
def longest_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every wait as long as it may be."""
    monkeypatch.setattr("skein.models.common.retry.uniform", lambda _, longest: longest)


@pytest.fixture
def client() -> FailingClient:
    return FailingClient()


@pytest.fixture
def table(client: FailingClient, clock: FixedClock) -> DynamoTable:
    return over(client, clock)


def over(client: FailingClient, clock: FixedClock) -> DynamoTable:
    return DynamoTable(checked("dynamodb", client), Settings().table_name, clock)


CONFLICTS = [canceled("None", "TransactionConflict"), answer("TransactionInProgressException")]


@pytest.mark.parametrize("conflict", CONFLICTS, ids=["conflict", "in progress"])
def test_conflicting_transaction_is_retried(
    table: DynamoTable, client: FailingClient, clock: FixedClock, conflict: ClientError
) -> None:
    client.before = [conflict] * (CONFLICT_RETRY.max_tries - 1)
    table.transact([Put(KEY, {})])
    assert len(client.requests) == CONFLICT_RETRY.max_tries
    assert len(clock.slept) == CONFLICT_RETRY.max_tries - 1
    assert clock.slept == sorted(clock.slept)
    assert max(clock.slept) <= 0.5
    assert sum(clock.slept) < 10


def test_transaction_that_always_conflicts_raises_contention(
    table: DynamoTable, client: FailingClient
) -> None:
    client.before = [canceled("TransactionConflict")] * 99
    with pytest.raises(Contention):
        table.transact([Put(KEY, {})])
    assert len(client.requests) == CONFLICT_RETRY.max_tries


def test_transaction_still_in_progress_raises_ambiguous(
    table: DynamoTable, client: FailingClient
) -> None:
    client.before = [answer("TransactionInProgressException")] * 99
    with pytest.raises(Ambiguous):
        table.transact([Put(KEY, {})])
    assert len(client.requests) == CONFLICT_RETRY.max_tries


@pytest.mark.parametrize("write", WRITES)
def test_write_that_conflicts_with_a_transaction_is_retried(
    table: DynamoTable, client: FailingClient, write: Write
) -> None:
    client.before = [answer("TransactionConflictException")] * (CONFLICT_RETRY.max_tries - 1)
    table.write(write)
    client.before = [answer("TransactionConflictException")] * 99
    with pytest.raises(Contention):
        table.write(write)
    assert len(client.requests) == 2 * CONFLICT_RETRY.max_tries


def test_a_failed_condition_outweighs_a_conflict(table: DynamoTable, client: FailingClient) -> None:
    client.before = [canceled("TransactionConflict", "ConditionalCheckFailed", "None")]
    with pytest.raises(ConditionFailed) as caught:
        table.transact([Check(Key("p", name), Exists()) for name in "abc"])
    assert caught.value.failed == {1}
    assert len(client.requests) == 1


@pytest.mark.parametrize(
    "throttle",
    [
        answer("ProvisionedThroughputExceededException"),
        answer("ThrottlingException"),
        answer("RequestLimitExceeded"),
        canceled("None", "ThrottlingError"),
        canceled("ProvisionedThroughputExceeded", "None"),
    ],
    ids=str,
)
def test_a_throttle_is_tried_again_and_then_named(
    table: DynamoTable, client: FailingClient, throttle: ClientError
) -> None:
    client.before = [throttle] * (CALL_RETRY.max_tries - 1)
    table.transact([Put(KEY, {})])
    client.before = [throttle] * CALL_RETRY.max_tries
    with pytest.raises(Throttled):
        table.transact([Put(KEY, {})])
    assert len(client.requests) == 2 * CALL_RETRY.max_tries


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("error", [*LOST, answer("InternalServerError", status=500)], ids=str)
def test_a_single_write_without_an_answer_is_never_repeated(
    table: DynamoTable, client: FailingClient, write: Write, error: Exception
) -> None:
    client.before = [error]
    with pytest.raises(Ambiguous):
        table.write(write)
    assert len(client.requests) == 1


@pytest.mark.parametrize("error", UNREACHED, ids=str)
def test_call_that_never_reached_the_table_is_retried(
    table: DynamoTable, client: FailingClient, error: Exception
) -> None:
    client.before = [error] * (CALL_RETRY.max_tries - 1)
    table.write(Update(KEY, add={"n": 1}))
    client.before = [error] * CALL_RETRY.max_tries
    with pytest.raises(Unavailable):
        table.write(Update(KEY, add={"n": 1}))
    assert len(client.requests) == 2 * CALL_RETRY.max_tries


@pytest.mark.parametrize(
    "error", [*LOST, *UNREACHED, answer("ServiceUnavailable", status=503)], ids=str
)
def test_a_read_without_an_answer_is_tried_again_and_then_unavailable(
    table: DynamoTable, client: FailingClient, error: Exception
) -> None:
    client.before = [error] * (CALL_RETRY.max_tries - 1)
    assert table.get(KEY) is None
    client.before = [error] * CALL_RETRY.max_tries
    with pytest.raises(Unavailable):
        table.query(Query(KEY.pk))


def test_a_transaction_without_an_answer_is_repeated_under_its_own_token(
    table: DynamoTable, client: FailingClient
) -> None:
    client.before = [*LOST]
    table.transact([Put(KEY, {})])
    table.transact([Put(KEY, {})])
    tokens = [request["ClientRequestToken"] for request in client.requests]
    assert len(tokens) == 4
    assert len(set(tokens[:3])) == 1
    assert tokens[3] != tokens[0]


@pytest.mark.parametrize(
    "later",
    [UNREACHED[0], answer("ThrottlingException"), canceled("TransactionConflict")],
    ids=["unreached", "throttled", "conflict"],
)
def test_a_lost_answer_stays_unclear_whatever_comes_after(
    table: DynamoTable, client: FailingClient, later: Exception
) -> None:
    client.before = [LOST[0], *[later] * 99]
    with pytest.raises(Ambiguous):
        table.transact([Put(KEY, {})])


@pytest.mark.engine
def test_a_transaction_whose_answer_was_lost_takes_effect_once(
    engine_client: "DynamoDBClient", clock: FixedClock, pk: str
) -> None:
    client = FailingClient(engine_client)
    table = over(client, clock)
    client.after = [*LOST]
    table.transact(
        [
            Put(Key(pk, "MSG#1"), {"text": "hello"}, condition=Missing()),
            Update(Key(pk, "META"), add={"last_seq": 1}),
        ]
    )
    assert len(client.requests) == 3
    assert table.get(Key(pk, "META")) == {"pk": pk, "sk": "META", "last_seq": 1}


@pytest.mark.engine
def test_a_single_write_whose_answer_was_lost_has_still_happened(
    engine_client: "DynamoDBClient", clock: FixedClock, pk: str
) -> None:
    client = FailingClient(engine_client)
    table = over(client, clock)
    client.after = [LOST[0]]
    with pytest.raises(Ambiguous):
        table.write(Put(Key(pk, "META"), {"n": 1}, condition=Missing()))
    assert table.get(Key(pk, "META")) == {"pk": pk, "sk": "META", "n": 1}


def test_denied_call_raises_the_error_of_the_client(
    table: DynamoTable, client: FailingClient
) -> None:
    denied = answer("AccessDeniedException")
    client.before = [denied]
    with pytest.raises(ClientError) as caught:
        table.get(KEY)
    assert caught.value is denied
    assert not isinstance(caught.value, SkeinError)


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (answer("ValidationException", message="Item size has exceeded the maximum"), TooLarge),
        (canceled("ValidationError", message="Item size to update has exceeded the"), TooLarge),
        (answer("ValidationException", message="Invalid type"), ValueError),
        (canceled("None", "ValidationError", message="Invalid type"), ValueError),
    ],
)
def test_invalid_write_is_not_retried(
    table: DynamoTable, client: FailingClient, error: ClientError, meaning: type[Exception]
) -> None:
    client.before = [error]
    with pytest.raises(meaning):
        table.transact([Put(KEY, {})])
    assert len(client.requests) == 1
