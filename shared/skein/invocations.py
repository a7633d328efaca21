"""Deadlines of Lambda invocations."""

from datetime import datetime, timedelta

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.ports import Clock


def deadline_of(context: LambdaContext, clock: Clock) -> datetime:
    """Return the time, on `clock`, at which Lambda ends this invocation."""
    return clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
