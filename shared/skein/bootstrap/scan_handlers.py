"""The steps that the handlers of the tick and the finders share."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.invocations import deadline_of
from skein.logs import Handler, logged

MARGIN = timedelta(seconds=5)  # between the end of a scan and the time-out of the function


def for_due_items(scan: Callable[[datetime], int]) -> Handler[dict[str, int]]:
    """Turn a scan of the due index into the handler of a schedule.

    Args:
        scan: Queues the jobs of the items that are due, and returns their number. It takes the time
            at which it must stop.
    """

    @logged
    def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
        until = deadline_of(context, app().ports.clock) - MARGIN
        return {"sent": scan(until)}

    return handler
