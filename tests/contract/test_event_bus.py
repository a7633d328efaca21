"""Events on a bus of Amazon EventBridge, by calls and answers as AWS describes them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from skein.adapters.aws.event_bus import EventBridgeBus
from skein.errors import TooLarge, Unavailable
from tests.support.aws_shapes import checked

ARN = "arn:aws:events:us-east-1:000000000000:event-bus/skein"
NOW = datetime(2026, 11, 29, tzinfo=UTC)


class Bus:
    """A stand-in for EventBridge."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self._answer = answer
        self.entries: list[dict[str, Any]] = []

    def put_events(self, **given: Any) -> dict[str, Any]:
        self.entries += given["Entries"]
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def test_event_is_put_with_its_type_and_time() -> None:
    bus = Bus({"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]})
    EventBridgeBus(checked("events", bus), ARN).put("run.ended", '{"id": "evt_1"}', NOW)
    [entry] = bus.entries
    assert (entry["Source"], entry["DetailType"]) == ("skein", "run.ended")
    assert (entry["EventBusName"], entry["Detail"]) == (ARN, '{"id": "evt_1"}')


@pytest.mark.parametrize(
    "answer",
    [
        {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException"}]},
        ClientError({"Error": {"Code": "InternalException", "Message": "-"}}, "PutEvents"),
    ],
)
def test_event_that_the_bus_does_not_take_is_tried_again(answer: Any) -> None:
    with pytest.raises(Unavailable, match="Exception"):
        EventBridgeBus(checked("events", Bus(answer)), ARN).put("run.ended", "{}", NOW)


def test_event_above_the_limit_is_refused() -> None:
    with pytest.raises(TooLarge):
        EventBridgeBus(Bus({}), ARN).put("run.ended", "x" * 300_000, NOW)
