"""Lets every delay of a queue pass by the local clock instead of the queue's own.

A message is sent without a delay and carries the moment at which it is due; the poller, which alone
receives, holds it until then. So turning the clock is enough to let a delay pass.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from skein.models.base import rfc3339
from skein.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

SENT_AT = "sent_at"
DUE_AT = "due_at"


def keep_delays(
    client: "SQSClient", clock: Clock, queue_delays: Mapping[str, int], sent: Callable[[], None]
) -> None:
    """Make a client send each message at once, with the moment at which it is due.

    Args:
        client: Used by the adapter that is under the services.
        clock: The local clock.
        queue_delays: Seconds by queue URL, for messages without a delay of their own.
        sent: Called after each batch.
    """

    def marked(params: dict[str, Any], **_: object) -> dict[str, Any]:
        now = clock.now()
        usual = queue_delays.get(params["QueueUrl"], 0)
        entries = [_marked(entry, now, usual) for entry in params["Entries"]]
        return {**params, "Entries": entries}

    def notify(**_: object) -> None:
        sent()

    events: Any = client.meta.events  # whose stubs know of no hook that returns something
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
    """A time that a message carries; `default` for one that came some other way."""
    try:
        return datetime.fromisoformat(attributes[name]).astimezone(UTC)
    except (KeyError, ValueError):
        return default
