"""The table on DynamoDB.

This module retries calls itself, because the SDK's retries have three faults:
- The SDK repeats a conditional write whose answer was lost, and then reports the write's own
  success as a failed condition.
- The SDK repeats an `add` whose answer was lost, so the `add` counts twice.
- The SDK never retries a transaction that conflicted with another transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from tenacity import (
    RetryCallState,
    RetryError,
    Retrying,
    retry_if_exception,
    retry_if_result,
)

from skein.adapters.aws.clients import Aws
from skein.adapters.aws.errors import AWS_ERRORS, InProgress, meaning_of
from skein.adapters.aws.rules import (
    TABLE,
    check_batch,
    check_key,
    check_query,
    check_transaction,
    check_write,
    is_impossible,
    schema_of,
)
from skein.adapters.dynamodb.attributes import marshal, marshal_item, unmarshal_item
from skein.adapters.dynamodb.expressions import Expression, Request, request_for, spelled_key
from skein.errors import Ambiguous, Contention, Throttled, Transient, Unavailable
from skein.models.common.retry import Retry, doubling
from skein.models.common.storage import (
    Check,
    Delete,
    Item,
    Key,
    Page,
    Put,
    Query,
    Update,
    Write,
    unexpired,
)
from skein.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

READ_SECONDS = 5
CONNECTIONS = 25

WAITS = (*doubling(timedelta(milliseconds=20), 4), timedelta(milliseconds=500))
CALL_RETRY = Retry(WAITS, max_tries=3)
CONFLICT_RETRY = Retry(WAITS, max_tries=20)  # because of a conflict with other transactions
BATCH_RETRY = Retry(WAITS, max_tries=10)  # because DynamoDB processed only part of the batch

TRANSACTION_WORDS: dict[type[Write], str] = {
    Put: "Put",
    Update: "Update",
    Delete: "Delete",
    Check: "ConditionCheck",
}

T = TypeVar("T")


def dynamo_client(aws: Aws) -> "DynamoDBClient":
    """Create a DynamoDB client that never retries."""
    client: DynamoDBClient = aws.client(
        "dynamodb", read_seconds=READ_SECONDS, tries=1, max_pool_connections=CONNECTIONS
    )
    return client


@dataclass(frozen=True, slots=True)
class DynamoTable:
    """A `Table` on DynamoDB.

    Args:
        client: A client that never retries, for example from `dynamo_client`.
        clock: The clock that waits between the attempts of a call.
    """

    client: "DynamoDBClient"
    table_name: str
    clock: Clock

    def get(self, key: Key) -> Item | None:
        check_key(key)
        response = self._read(
            lambda: self.client.get_item(
                TableName=self.table_name, Key=spelled_key(key), ConsistentRead=True
            )
        )
        found = [unmarshal_item(response["Item"])] if "Item" in response else []
        return next(iter(unexpired(found, self.clock.now())), None)

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        check_batch(keys)
        if not keys:
            return {}
        found: dict[Key, Item] = {}
        # DynamoDB refuses a batch with duplicate keys.
        wanted: Sequence[Any] = [spelled_key(key) for key in dict.fromkeys(keys)]

        def read_some() -> bool:
            nonlocal wanted
            items, wanted = self._get_batch(wanted, consistent=consistent)
            found.update({Key(item["pk"], item["sk"]): item for item in items})
            return bool(wanted)

        retrying = Retrying(
            stop=BATCH_RETRY.stop,
            wait=BATCH_RETRY.pause,
            retry=retry_if_result(bool),
            sleep=self.clock.sleep,
        )
        try:
            retrying(read_some)
        except RetryError:
            left = f"{len(wanted)} items of a batch were not read in {BATCH_RETRY.max_tries} tries"
            raise Throttled(left) from None
        return found

    def query(self, query: Query) -> Page:
        check_query(query)
        if is_impossible(query):
            return Page(())
        request = self._query_request(query)
        items: list[Item] = []
        while True:
            if query.limit is not None:
                request["Limit"] = query.limit - len(items)
            response = self._read(lambda: self.client.query(**request))
            items.extend(unexpired(map(unmarshal_item, response["Items"]), self.clock.now()))
            next_start = response.get("LastEvaluatedKey")
            if not next_start:
                return Page(tuple(items))
            if len(items) == query.limit:
                return Page(tuple(items), unmarshal_item(next_start))
            request["ExclusiveStartKey"] = next_start

    def write(self, write: Write) -> None:
        check_write(write)
        request = request_for(write, self.table_name)
        match write:
            case Put():
                self._write(lambda: self.client.put_item(**request))
            case Update():
                self._write(lambda: self.client.update_item(**request))
            case Delete():
                self._write(lambda: self.client.delete_item(**request))
            case Check():
                self.transact([write])

    def transact(self, writes: Sequence[Write]) -> None:
        check_transaction(writes)
        if not writes:
            return
        # The token makes the transaction idempotent, so a retry after a lost response is safe.
        token = uuid4().hex
        items: list[Any] = [
            {TRANSACTION_WORDS[type(write)]: request_for(write, self.table_name)}
            for write in writes
        ]
        self._write(
            lambda: self.client.transact_write_items(TransactItems=items, ClientRequestToken=token),
            repeatable=True,
        )

    def _get_batch(
        self, wanted: Sequence[Any], *, consistent: bool
    ) -> tuple[list[Item], Sequence[Any]]:
        response = self._read(
            lambda: self.client.batch_get_item(
                RequestItems={self.table_name: {"Keys": wanted, "ConsistentRead": consistent}}
            )
        )
        found = map(unmarshal_item, response["Responses"].get(self.table_name, ()))
        items = unexpired(found, self.clock.now())
        left = response.get("UnprocessedKeys", {}).get(self.table_name)
        return items, left["Keys"] if left else []

    def _query_request(self, query: Query) -> Request:
        schema, expression = schema_of(query), Expression()
        pk, sk = expression.name(schema.pk), expression.name(schema.sk)
        condition = f"{pk} = {expression.value(marshal(query.pk))} AND {sk}"
        last = expression.value(marshal(query.last))
        if query.first:
            condition += f" BETWEEN {expression.value(marshal(query.first))} AND {last}"
        else:
            # Keys are never empty, and DynamoDB refuses a comparison with an empty key.
            condition += f" <= {last}"
        request: Request = {
            "TableName": self.table_name,
            "KeyConditionExpression": condition,
            "ScanIndexForward": not query.newest_first,
            **({"ConsistentRead": True} if query.index is None else {"IndexName": query.index}),
            **expression.placeholders(),
        }
        if query.start is not None:
            keys = {*TABLE, *schema}
            request["ExclusiveStartKey"] = marshal_item({name: query.start[name] for name in keys})
        return request

    def _read(self, call: Callable[[], T]) -> T:
        return self._carry_out(call, writing=False, repeatable=True)

    def _write(self, call: Callable[[], Mapping[str, Any]], *, repeatable: bool = False) -> None:
        self._carry_out(call, writing=True, repeatable=repeatable)

    def _carry_out(self, call: Callable[[], T], *, writing: bool, repeatable: bool) -> T:
        doubtful = False

        def once() -> T:
            nonlocal doubtful
            try:
                return call()
            except AWS_ERRORS as error:
                meaning = meaning_of(error, writing=writing)
                doubtful = doubtful or isinstance(meaning, Ambiguous)
                if meaning is error:
                    raise
                raise meaning from error

        def worth_another_try(error: BaseException) -> bool:
            if isinstance(error, Ambiguous):
                return repeatable
            return isinstance(error, Contention | Throttled | Unavailable)

        retrying = Retrying(
            stop=_tried_enough,
            wait=CALL_RETRY.pause,
            retry=retry_if_exception(worth_another_try),
            sleep=self.clock.sleep,
            reraise=True,
        )
        try:
            return retrying(once)
        except Transient as error:
            if doubtful and not isinstance(error, Ambiguous):
                # An earlier attempt may have taken effect, even if the last one did not.
                raise Ambiguous("the outcome of a write to AWS is unknown") from error
            raise


def _tried_enough(state: RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome else None
    passing = isinstance(error, Contention | InProgress)
    return (CONFLICT_RETRY if passing else CALL_RETRY).stop(state)
