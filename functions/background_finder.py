"""Handler of the hourly schedule that finds long background work."""

from datetime import datetime

from skein.bootstrap import load_adapters, service
from skein.bootstrap.scan_handlers import for_due_items
from skein.inbound.sms_hours import SmsHours
from skein.models.outbox.due import DueKind
from skein.services.outbox.background_scanner import BackgroundScanner

load_adapters()

KINDS: tuple[DueKind, ...] = ("consolidation", "fading")


@for_due_items
def handler(until: datetime) -> int:
    """Queue the consolidations and reflections that are due, and check whether SMS still arrive."""
    service(SmsHours).check()
    return service(BackgroundScanner).run(KINDS, until=until)
