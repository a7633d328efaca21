"""Convert batches of a DynamoDB stream to changes of the table."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from skein.adapters.dynamodb.attributes import unmarshal_item
from skein.invocations import FailedItems
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key
from skein.models.outbox.changes import ItemChange

TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}

logger = logging.getLogger(__name__)


def process(
    event: Mapping[str, Any], forward: Callable[[Sequence[ItemChange]], Collection[int]]
) -> FailedItems:
    """Forward a batch of changes, and report the first record that failed.

    Lambda retries the batch from that record on. A malformed record fails, too. After the last
    retry, Lambda sends a message about the record to the failure queue. The other changes are
    forwarded in any case.

    Args:
        event: The event of a DynamoDB stream.
        forward: Handles changes, and returns the positions of the changes that failed.

    Raises:
        KeyError: The event is not from a DynamoDB stream.
    """
    records = event["Records"]
    numbers = [str(record["dynamodb"]["SequenceNumber"]) for record in records]
    changes: dict[int, ItemChange] = {}
    failed: set[int] = set()
    for position, record in enumerate(records):
        try:
            changes[position] = change_of(record)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # The error may quote parts of the item.
            why, number = type(error).__name__, numbers[position]
            logger.warning(
                "record failed",
                extra={"sequence_number": number, "why": why, "reason": Reason.JOB_FAILED},
            )
            failed.add(position)
    positions = list(changes)
    failed |= {positions[index] for index in forward(list(changes.values()))}
    if not failed:
        return {"batchItemFailures": []}
    return {"batchItemFailures": [{"itemIdentifier": numbers[min(failed)]}]}


def change_of(record: Mapping[str, Any]) -> ItemChange:
    """Return the change that a stream record describes.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: The record is malformed.
    """
    stream = record["dynamodb"]
    keys = unmarshal_item(stream["Keys"])
    change = ItemChange(
        key=Key(keys["pk"], keys["sk"]),
        before=_image(stream.get("OldImage")),
        after=_image(stream.get("NewImage")),
        at=datetime.fromtimestamp(stream["ApproximateCreationDateTime"], UTC),
        sequence=str(stream["SequenceNumber"]),
        expired=record.get("userIdentity") == TTL,
    )
    if change.before is None and change.after is None:
        raise ValueError("the record has no image of the item")
    return change


def _image(stored: Mapping[str, Any] | None) -> Item | None:
    return None if stored is None else unmarshal_item(stored)
