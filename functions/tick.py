"""Handler of the tick, which dispatches due items every minute."""

from collections.abc import Mapping
from datetime import datetime

from skein.account_linking.phone_links import PhoneLinks
from skein.bootstrap import load_adapters, service
from skein.bootstrap.scan_handlers import for_due_items
from skein.models.outbox.due import DueKind
from skein.planning.firing import Firing
from skein.services.outbox.tick import Fire, Tick

load_adapters()


@for_due_items
def handler(until: datetime) -> int:
    return service(Tick).run(firing(), until=until)


def firing() -> Mapping[DueKind, Fire]:
    """Return the functions that fire due items, by kind of item."""
    return {"plan": service(Firing).fire, "merge": service(PhoneLinks).continue_merge}
