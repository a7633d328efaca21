"""The vector index of the table on DynamoDB.

A search compares attributes for equality only: the service rejects ranges, although its
documentation allows them.
"""

import logging
import math
from typing import TYPE_CHECKING, Any

from tenacity import Retrying, retry_if_exception_type

from skein.adapters.aws.errors import AWS_ERRORS, meaning_of
from skein.adapters.aws.rules import VECTORS, check_search
from skein.adapters.dynamodb.attributes import marshal, unmarshal_item
from skein.adapters.dynamodb.expressions import Expression, Request
from skein.adapters.dynamodb.table import WAITS
from skein.errors import NoVectorIndex, Throttled, Unavailable
from skein.models.common.retry import Retry, minutes
from skein.models.common.storage import Item, unexpired
from skein.models.common.vector_search import DISTANCE, PASSAGE_ATTRIBUTES, VectorSearch
from skein.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SEARCH_RETRY = Retry(WAITS, max_tries=2)  # few tries, because a prompt waits
MISSING_INDEX = Retry(minutes(5))  # how long searches are skipped after the index was missing
# In a region without vector indexes, DynamoDB does not know the operation.
MISSING = frozenset({"ResourceNotFoundException", "UnknownOperationException"})

logger = logging.getLogger(__name__)


class DynamoVectorIndex:
    """A `VectorIndex` on DynamoDB.

    Args:
        client: A client that never retries, for example from `dynamo_client`.
        index_name: The name of the vector index; empty if the table has no vector index.
        clock: The clock that waits between the attempts of a call.
    """

    def __init__(
        self, client: "DynamoDBClient", table_name: str, index_name: str, clock: Clock
    ) -> None:
        self._client = client
        self._table_name = table_name
        self._index_name = index_name
        self._clock = clock
        self._logged = False
        self._missing_until = -math.inf

    def nearest(self, search: VectorSearch) -> list[Item]:
        check_search(search)
        if not self._index_name:
            raise self._no_index("the table has none")
        if self._now() < self._missing_until:
            raise NoVectorIndex("the table had no usable vector index minutes ago")
        request = self._request(search)
        retrying = Retrying(
            stop=SEARCH_RETRY.stop,
            wait=SEARCH_RETRY.pause,
            retry=retry_if_exception_type((Throttled, Unavailable)),
            sleep=self._clock.sleep,
            reraise=True,
        )
        try:
            response = retrying(lambda: self._call(request))
        except ValueError as error:
            # The request is valid, so the index is missing or not ready.
            raise self._no_index(str(error)) from error
        found = [
            unmarshal_item(result["Item"]) | {DISTANCE: result["Score"]}
            for result in response["SearchResults"]
        ]
        return list(unexpired(found, self._clock.now()))

    def _call(self, request: Request) -> Any:
        try:
            return self._client.search_vectors(**request)
        except AWS_ERRORS as error:
            code = getattr(error, "response", {}).get("Error", {}).get("Code", "")
            if code in MISSING:
                raise self._no_index(str(error)) from error
            meaning = meaning_of(error, writing=False)
            if meaning is error:
                raise
            raise meaning from error

    def _request(self, search: VectorSearch) -> Request:
        expression = Expression()
        terms = {
            VECTORS.partition: search.partition,
            VECTORS.model: search.model,
            VECTORS.author: search.author,
            VECTORS.month: search.month,
        }
        condition = " AND ".join(
            f"{expression.name(name)} = {expression.value(marshal(value))}"
            for name, value in terms.items()
            if value is not None
        )
        projection = ", ".join(map(expression.name, PASSAGE_ATTRIBUTES))
        return {
            "TableName": self._table_name,
            "IndexName": self._index_name,
            "SearchVector": [marshal(component) for component in search.vector],
            "SearchConditionExpression": condition,
            "ProjectionExpression": projection,
            "TopK": search.limit,
            **expression.placeholders(),
        }

    def _no_index(self, reason: str) -> NoVectorIndex:
        self._missing_until = self._now() + MISSING_INDEX.wait(1).total_seconds()
        if not self._logged:
            self._logged = True
            logger.warning("no vector index, so recall searches by words only: %s", reason)
        return NoVectorIndex(reason)

    def _now(self) -> float:
        return self._clock.now().timestamp()
