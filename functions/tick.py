"""EventBridge, every minute: send again whatever is due."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, preload
from skein.invocations import deadline_of
from skein.logs import logged
from skein.services.outbox.due_scanner import shards_of

preload("tick")

SPARE = timedelta(seconds=5)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Spend the time, less a few seconds, on what is due in the shards of the event."""
    until = deadline_of(context, app().clock) - SPARE
    return {"sent": app().tick.run(until=until, shards=shards_of(event))}
