"""Delays of SQS messages by the local clock instead of the queue's own.

Each message is sent without a delay, with its due time as an attribute. The poller is the only
receiver and holds the message until that time, so turning the clock ends a delay.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from skein.models.common.base import rfc3339
from skein.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

SENT_AT = "sent_at"
DUE_AT = "due_at"


def keep_delays(
    client: "SQSClient", clock: Clock, queue_delays: Mapping[str, int], sent: Callable[[], None]
) -> None:
    """Replace the delays of a client's messages by due times of the local clock.

    Args:
        client: The client of the services' SQS adapter.
        clock: The local clock.
        queue_delays: Default delays in seconds by queue URL, for messages without their own delay.
        sent: Called after each sent batch.
    """

    def marked(params: dict[str, Any], **_: object) -> dict[str, Any]:
        now = clock.now()
        usual = queue_delays.get(params["QueueUrl"], 0)
        entries = [_marked(entry, now, usual) for entry in params["Entries"]]
        return {**params, "Entries": entries}

    def notify(**_: object) -> None:
        sent()

    events: Any = client.meta.events  # the stubs lack hooks that return a value
    events.register("provide-client-params.sqs.SendMessageBatch", marked)
    events.register("after-call.sqs.SendMessageBatch", notify)


def _marked(entry: Mapping[str, Any], now: datetime, usual: int) -> dict[str, Any]:
    due = now + timedelta(seconds=entry.get("DelaySeconds", usual))
    marks = {
        name: {"DataType": "String", "StringValue": rfc3339(at)}
        for name, at in ((SENT_AT, now), (DUE_AT, due))
    }
    attributes = {**entry.get("MessageAttributes", {}), **marks}
    return {**entry, "DelaySeconds": 0, "MessageAttributes": attributes}


def moment(attributes: Mapping[str, str], name: str, default: datetime) -> datetime:
    """Return a timestamp from a message's attributes; `default` if missing or invalid."""
    try:
        return datetime.fromisoformat(attributes[name]).astimezone(UTC)
    except (KeyError, ValueError):
        return default
