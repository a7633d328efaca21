"""Handler of the daily schedule that finds agents whose journal entries are about to fade."""

from collections.abc import Sequence
from datetime import datetime

from skein.bootstrap import service
from skein.bootstrap.ports import load_adapters
from skein.bootstrap.scan_handlers import for_due_items
from skein.models.outbox.due import DueKind
from skein.services.outbox.background_scanner import BackgroundScanner

load_adapters()

KINDS: tuple[DueKind, ...] = ("fading",)


@for_due_items
def handler(until: datetime, shards: Sequence[int]) -> int:
    """Queue the due reflections of some shards."""
    return service(BackgroundScanner).run(KINDS, until=until, shards=shards)
