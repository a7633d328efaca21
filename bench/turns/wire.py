"""Counter of the requests to DynamoDB and S3, from any library that uses botocore.

The counter hooks into botocore, so it sees each request that is really sent, retries included. It
asks DynamoDB to report the units that each request consumes. It doesn't depend on Skein, because it
also measures the peers.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

UNITS = "ReturnConsumedCapacity"
SEARCH = "dynamodb.SearchVectors"
READS = frozenset({"dynamodb.BatchGetItem", "dynamodb.GetItem", "dynamodb.Query"})


@dataclass(frozen=True)
class WireCall:
    """One request and its answer.

    Attributes:
        begun: When the request was sent, in seconds of `time.perf_counter`.
        ended: When the answer had been read completely.
        sent: The bytes of the request's body.
        received: The bytes of the answer's body.
        units: The capacity units that DynamoDB reports; 0 for S3.
    """

    name: str
    begun: float
    ended: float
    sent: int
    received: int
    units: float

    @property
    def reads(self) -> float:
        """The capacity units if the call reads, otherwise 0."""
        return self.units if self.name in READS else 0.0

    @property
    def writes(self) -> float:
        """The capacity units if the call writes, otherwise 0."""
        return self.units - self.reads

    @property
    def searched(self) -> int:
        """The bytes of the passages that a vector search found; 0 for any other call."""
        return self.received if self.name == SEARCH else 0


class Wire:
    """Record of all calls of the clients that are passed to `listen`.

    Attributes:
        calls: The calls since this list was last cleared, in the order of the answers.
    """

    def __init__(self) -> None:
        self.calls: list[WireCall] = []
        self._sending = threading.local()  # a request is sent and read in one thread

    def listen(self, client: Any) -> None:
        """Record the calls of a boto3 client from now on."""
        events = client.meta.events
        events.register("before-parameter-build.dynamodb", _ask_for_units)
        events.register("before-send", self._begin)
        events.register("response-received", self._end)

    def _begin(self, request: Any, **_: Any) -> None:
        self._sending.now = (time.perf_counter(), _sent(request))

    def _end(
        self,
        response_dict: Mapping[str, Any] | None,
        parsed_response: Mapping[str, Any] | None,
        event_name: str,
        **_: Any,
    ) -> None:
        begun, sent = self._sending.now
        call = WireCall(
            name=event_name.removeprefix("response-received."),
            begun=begun,
            ended=time.perf_counter(),
            sent=sent,
            received=_received(response_dict or {}),
            units=_units((parsed_response or {}).get("ConsumedCapacity")),
        )
        self.calls.append(call)


def rounds(calls: Iterable[WireCall]) -> int:
    """Return the number of rounds: calls that overlap count as one round."""
    found, free_at = 0, 0.0
    for call in sorted(calls, key=lambda one: one.ended):
        if call.begun >= free_at:
            found, free_at = found + 1, call.ended
    return found


def seconds_on_wire(calls: Iterable[WireCall]) -> float:
    """Return the seconds during which at least one call was waiting for its answer."""
    total, until = 0.0, 0.0
    for call in sorted(calls, key=lambda one: one.begun):
        total += max(call.ended - max(call.begun, until), 0.0)
        until = max(until, call.ended)
    return total


def _ask_for_units(params: dict[str, Any], model: Any, **_: Any) -> None:
    if UNITS in model.input_shape.members:
        params.setdefault(UNITS, "TOTAL")


def _sent(request: Any) -> int:
    """Return the size of a request's body; for a stream, the size that the header declares."""
    if isinstance(request.body, bytes | bytearray | str):
        return len(request.body)
    headers = {str(name).lower(): value for name, value in dict(request.headers).items()}
    length = headers.get("x-amz-decoded-content-length") or headers.get("content-length") or 0
    return int(length)


def _received(response: Mapping[str, Any]) -> int:
    body = response.get("body", b"")
    if isinstance(body, bytes):
        return len(body)
    return int(response.get("headers", {}).get("content-length", 0))


def _units(consumed: Any) -> float:
    """Return the capacity units of an answer. Batches and transactions list them by table."""
    if not consumed:
        return 0.0
    tables = consumed if isinstance(consumed, list) else [consumed]
    return float(sum(table["CapacityUnits"] for table in tables))
