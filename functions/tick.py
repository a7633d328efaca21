"""Handler of the tick, which dispatches due items every minute."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.bootstrap.tick import build_tick
from skein.invocations import deadline_of
from skein.logs import logged
from skein.services.outbox.due_scanner import shards_of

load_adapters()

MARGIN = timedelta(seconds=5)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Dispatch the due items of the event's shards, until 5 seconds before the time-out."""
    until = deadline_of(context, app().ports.clock) - MARGIN
    return {"sent": app().get(build_tick).run(until=until, shards=shards_of(event))}
