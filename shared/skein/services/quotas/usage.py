"""What a tenant's agents cost per day, in tokens."""

import logging
from dataclasses import dataclass
from datetime import date

from skein.errors import Transient
from skein.models.base import stable_hash
from skein.models.completion import TokenUsage
from skein.models.storage import Key, Update
from skein.models.usage import DayUsage, usage_key
from skein.ports import Clock, Metrics, Table

USAGE_SHARDS = 16
COUNTS = ("answers", "input_tokens", "output_tokens", "cached_tokens")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageBook:
    """Adds up a tenant's tokens by day (UTC), spread over 16 counters so that none runs hot."""

    table: Table
    clock: Clock
    metrics: Metrics

    @staticmethod
    def key_of(tenant: str, day: str, shard: int) -> Key:
        """The key of one counter; `day` is `YYYY-MM-DD`."""
        return usage_key(tenant, day, shard)

    @classmethod
    def keys_of_day(cls, tenant: str, day: date) -> list[Key]:
        """The keys of all counters of a day."""
        return [cls.key_of(tenant, f"{day:%Y-%m-%d}", shard) for shard in range(USAGE_SHARDS)]

    def add(
        self, tenant: str, usage: TokenUsage, *, spread_by: str, background: bool = False
    ) -> None:
        """Add the cost of one model answer; `spread_by` (a run's id) picks the counter.

        A count that cannot be written is given up and reported by the metric `UsageLost`: the
        exact figures stand on the runs, and no answer waits for a statistic. With `background`, it
        counts against the budget of background work, too.
        """
        day = f"{self.clock.now():%Y-%m-%d}"
        key = self.key_of(tenant, day, stable_hash(spread_by) % USAGE_SHARDS)
        counts = {"answers": 1} | usage.model_dump()
        if background:
            counts["background_tokens"] = usage.input_tokens + usage.output_tokens
        try:
            self.table.write(Update(key, add=counts))
        except Transient:
            counts.pop("background_tokens", None)
            logger.warning("usage not counted", extra={"tenant": tenant, **counts})
            self.metrics.count("UsageLost")

    def of_day(self, tenant: str, day: date | None = None) -> DayUsage:
        """What the tenant's agents have used on a day (UTC); today, if none is given."""
        day = day or self.clock.now().date()
        items = self.table.get_many(self.keys_of_day(tenant, day)).values()
        counts = {name: sum(int(item.get(name, 0)) for item in items) for name in COUNTS}
        return DayUsage(day=day, **counts)
