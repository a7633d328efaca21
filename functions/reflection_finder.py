"""Handler of the daily schedule that finds agents whose journal entries are about to fade."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.due import DueKind
from skein.services.outbox.background_scanner import BackgroundScanner
from skein.services.outbox.due_scanner import shards_of

load_adapters()

KINDS: tuple[DueKind, ...] = ("fading",)
MARGIN = timedelta(seconds=5)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Queue the due reflections of the event's shards, until 5 seconds before the time-out."""
    until = deadline_of(context, app().ports.clock) - MARGIN
    scanner = app().get(BackgroundScanner)
    return {"sent": scanner.run(KINDS, until=until, shards=shards_of(event))}
