"""Vector index of the benchmark, because DynamoDB Local has no vector index.

Skein's own adapter makes the requests. A hook in the adapter's client answers them, with the
passages that were written to the table. So they are counted like all other requests.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from skein.adapters.aws.rules import VECTORS
from skein.adapters.dynamodb.attributes import marshal_item, unmarshal_item
from skein.adapters.dynamodb.table import DynamoTable
from skein.adapters.dynamodb.vectors import DynamoVectorIndex
from skein.models.common.storage import Put, Write
from skein.models.common.vector_search import DISTANCE, VectorSearch
from skein.ports import Clock
from tests.fakes.table import MemoryTable

INDEX = "recall"
OPERATION = "before-send.dynamodb.SearchVectors"


@dataclass(frozen=True)
class IndexedTable(DynamoTable):
    """A table on DynamoDB Local with a searchable index of its passages.

    Attributes:
        passages: The passages, with their vectors.
    """

    passages: MemoryTable = field(default_factory=MemoryTable)

    def transact(self, writes: Sequence[Write]) -> None:
        """See `skein.ports.Table`; the written passages are indexed."""
        super().transact(writes)
        for write in writes:
            if isinstance(write, Put) and VECTORS.vector in write.item:
                self.passages.write(Put(write.key, write.item))

    def index(self, clock: Clock) -> DynamoVectorIndex:
        """Return the adapter of the index, whose requests this table answers from now on."""
        events: Any = self.client.meta.events
        events.unregister(OPERATION, unique_id=INDEX)
        events.register(OPERATION, self._answer, unique_id=INDEX)
        return DynamoVectorIndex(self.client, self.table_name, INDEX, clock)

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        search = _search(json.loads(request.body))
        results = [
            {"Score": found.pop(DISTANCE), "Item": marshal_item(found)}
            for found in self.passages.vectors.nearest(search)
        ]
        body = json.dumps({"SearchResults": results}, default=_encoded).encode()
        headers = HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"})
        return AWSResponse(request.url, 200, headers, _Body(body))


@dataclass(frozen=True)
class _Body:
    """The body of a response, in the form that botocore expects."""

    content: bytes

    def stream(self) -> Iterator[bytes]:
        """Yield the body."""
        yield self.content


def _search(request: dict[str, Any]) -> VectorSearch:
    names = request["ExpressionAttributeNames"]
    values = unmarshal_item(request["ExpressionAttributeValues"])
    terms = [term.split(" = ") for term in request["SearchConditionExpression"].split(" AND ")]
    equal = {names[name]: values[value] for name, value in terms}
    vector = tuple(float(component["N"]) for component in request["SearchVector"])
    partition, model = equal[VECTORS.partition], equal[VECTORS.model]
    return VectorSearch(partition, model, vector, request["TopK"])


def _encoded(value: bytes) -> str:
    return b64encode(value).decode()
