"""The event bus of Amazon EventBridge."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skein.adapters.aws.clients import Aws
from skein.adapters.aws.errors import AWS_ERRORS, AwsError
from skein.errors import TooLarge, Unavailable

READ_SECONDS = 10
TRIES = 1  # the lane of the event sends it again
SOURCE = "skein"
MAX_BYTES = 250_000  # of one event; an entry may have 256 KiB, including its other fields


def events_client(aws: Aws) -> Any:
    """Create a client for EventBridge."""
    return aws.client("events", read_seconds=READ_SECONDS, tries=TRIES)


@dataclass(frozen=True, slots=True)
class EventBridgeBus:
    """`EventBus` on EventBridge.

    Args:
        client: A client, for example from `events_client`.
        arn: The ARN of the bus.
    """

    client: Any
    arn: str

    def put(self, event_type: str, event: str, at: datetime) -> None:
        if len(event.encode()) > MAX_BYTES:
            raise TooLarge("The event is too large for an event bus.")
        entry = {
            "EventBusName": self.arn,
            "Source": SOURCE,
            "DetailType": event_type,
            "Detail": event,
            "Time": at,
        }
        try:
            answer = self.client.put_events(Entries=[entry])
        except AWS_ERRORS as error:
            raise Unavailable(f"the event bus failed: {_code(error)}") from error
        if answer["FailedEntryCount"]:
            raise Unavailable(f"the event bus refused it: {answer['Entries'][0].get('ErrorCode')}")


def _code(error: AwsError) -> str:
    response: dict[str, Any] = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", type(error).__name__))
