"""Every hour: finds the chats that may be quiet enough for what was said in them to be remembered.

Its cost depends on the chats that are due, not on how many there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.models.consolidation import Consolidation
from skein.models.due import DueKind
from skein.models.jobs import ConsolidationJob
from skein.models.storage import Item
from skein.ports import Table
from skein.services.memory.consolidation_schedule import next_hour
from skein.services.outbox.due_scanner import ALL_SHARDS, Finder, move_on


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationFinder:
    """Sends a job for each chat that is due; the worker looks whether it is quiet."""

    table: Table
    finder: Finder

    def run(self, *, until: datetime, shards: Sequence[int] = ALL_SHARDS) -> int:
        """Send one job for each chat that is due, until there is no more or `until` has come.

        Args:
            until: When to stop.
            shards: Which shards of the index to look at.

        Returns:
            How many jobs were sent.

        Raises:
            SkeinError: Some chats could not be read; all others have been sent.
        """
        return self.finder.run(["consolidation"], self._handle, until=until, shards=shards)

    def _handle(self, kind: DueKind, item: Item, now: datetime) -> ConsolidationJob:
        chat = Consolidation.from_item(item)
        move_on(self.table, kind, item, next_hour(now))
        return ConsolidationJob(tenant=chat.tenant, chat_id=chat.chat_id)
