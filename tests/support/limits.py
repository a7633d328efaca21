"""What one person may cause to others: what is counted, and how often a service is called."""

from datetime import datetime, timedelta

from skein.models.common.breaker import MAX_FAILURES, PAUSE
from skein.models.quotas.limit import DAY
from skein.models.quotas.usage import user_usage_key
from tests.support.builders import TENANT, World


def counted(world: World, since: datetime, user_id: str, *names: str) -> int:
    """What counts for a person over all days since a time, under names that begin so."""
    days = (world.clock.now() - since).days + 2
    keys = [user_usage_key(TENANT, since + day * DAY, user_id) for day in range(days)]
    items = world.table.get_many(keys).values()
    return sum(int(n) for item in items for name, n in item.items() if name.startswith(names))


def days_of(world: World, since: datetime) -> float:
    """How often a limit of a day may be used up: a full bucket, and what flows in."""
    return 1 + (world.clock.now() - since) / DAY


def most_calls(passed: timedelta) -> float:
    """How often a tool that always fails may be called in some time, because of its breaker."""
    return MAX_FAILURES + 1 + passed / PAUSE
