"""The budget of a tenant's background work in a day (UTC): summaries and memories.

It is held to the day's usage counters, which are written anyway. It is read before each question,
so the answers that are under way may exceed it. Over the budget the work waits, and its due pointer
moves to the next day.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.errors import SkeinError
from skein.models.base import stable_hash
from skein.models.overrides import TenantSettings
from skein.ports import Clock, Metrics, Table
from skein.services.quotas.usage import UsageBook
from skein.settings import Settings

DAY = timedelta(days=1)
SPREAD_SECONDS = 3_600  # in which the chats that wait are looked at again

logger = logging.getLogger(__name__)


class OverBudget(SkeinError):
    """A tenant's background work has used its tokens of the day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Says whether background work may ask a model."""

    table: Table
    clock: Clock
    metrics: Metrics
    settings: Settings

    def spent(self, tenant: str) -> bool:
        """Whether a tenant's background work has used its tokens of the day: one batch of reads."""
        settings_key = TenantSettings.key_of(tenant)
        counters = UsageBook.keys_of_day(tenant, self.clock.now().date())
        found = self.table.get_many([settings_key, *counters])
        said = TenantSettings.found_in(found.pop(settings_key, None)).background_tokens_per_day
        limit = self.settings.background_tokens_per_day if said is None else said
        used = sum(int(item.get("background_tokens", 0)) for item in found.values())
        return 0 < limit <= used

    def check(self, tenant: str) -> None:
        """Let background work ask a model once.

        Raises:
            OverBudget: It has to wait.
        """
        if self.spent(tenant):
            logger.warning("background work waits", extra={"tenant": tenant})
            self.metrics.count("BackgroundOverBudget")
            raise OverBudget(f"{tenant} has used its background tokens of the day")

    def next_day(self) -> datetime:
        """When the budget of the next day begins."""
        return self.clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + DAY

    def next_day_of(self, chat_id: str) -> datetime:
        """When a chat that waits is looked at again: within the next day's first hour."""
        return self.next_day() + timedelta(seconds=stable_hash(chat_id) % SPREAD_SECONDS)
