"""Deadlines of Lambda invocations, and their responses to a batch."""

from datetime import datetime, timedelta
from typing import TypedDict

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.ports import Clock


class FailedItem(TypedDict):
    """A message of a queue, or a record of a stream, that must be delivered again."""

    itemIdentifier: str


class FailedItems(TypedDict):
    """The response of a function to a batch; Lambda delivers the failed items again."""

    batchItemFailures: list[FailedItem]


def deadline_of(context: LambdaContext, clock: Clock) -> datetime:
    """Return the time, on `clock`, at which Lambda ends this invocation."""
    return clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
