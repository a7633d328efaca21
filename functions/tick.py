"""Handler of the tick, which dispatches due items every minute."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.due import DueKind
from skein.services.account_linking.phone_links import PhoneLinks
from skein.services.outbox.due_scanner import shards_of
from skein.services.outbox.tick import Fire, Tick
from skein.services.planning.firing import Firing

load_adapters()

MARGIN = timedelta(seconds=5)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Dispatch the due items of the event's shards, until 5 seconds before the time-out."""
    until = deadline_of(context, app().ports.clock) - MARGIN
    return {"sent": app().get(Tick).run(firing(), until=until, shards=shards_of(event))}


def firing() -> Mapping[DueKind, Fire]:
    """Return the function of each kind of due items that fires."""
    return {"plan": app().get(Firing).fire, "merge": app().get(PhoneLinks).continue_merge}
