"""Find what agents are to remember or are about to forget, and send the jobs.

The cost depends on what is due, not on how many chats, agents or memories there are.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from skein.models.base import stable_hash
from skein.models.due import DueKind
from skein.models.jobs import ConsolidationJob, ReflectionJob
from skein.models.storage import Item
from skein.ports import Table
from skein.services.memory.consolidation_schedule import next_hour
from skein.services.outbox.due_scanner import ALL_SHARDS, DueScanner, move_on

MemoryJob = ConsolidationJob | ReflectionJob


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFinder:
    """Sends one job for each chat or partition of an agent that is due.

    Attributes:
        kind: `consolidation` finds chats, each hour; the worker looks whether they are quiet.
            `fading` finds the partitions of agents in which something fades, each day.
    """

    kind: Literal["consolidation", "fading"]
    table: Table
    finder: DueScanner

    def run(self, *, until: datetime, shards: Sequence[int] = ALL_SHARDS) -> int:
        """Send the jobs for what is due, until there is no more or `until` has come.

        Args:
            until: When to stop.
            shards: Which shards of the index to look at; an agent has entries in several, so as
                many finders may send a job for it.

        Returns:
            How many jobs were sent.

        Raises:
            SkeinError: Some chats or entries could not be read; all others have been sent.
        """
        once = _Once()

        def handle(kind: DueKind, item: Item, now: datetime) -> MemoryJob | None:
            job, again = _job_of(kind, item, now)
            move_on(self.table, kind, item, again)
            return job if once.first(job) else None

        return self.finder.run([self.kind], handle, until=until, shards=shards)


def _job_of(kind: DueKind, item: Item, now: datetime) -> tuple[MemoryJob, datetime]:
    """The job for an item that is due, and when the item is due again."""
    if kind == "consolidation":
        job = ConsolidationJob(tenant=item["tenant"], chat_id=item["chat_id"])
        return job, next_hour(now)
    fading = ReflectionJob(
        tenant=item["tenant"], agent_id=item["agent_id"], scope=item.get("scope")
    )
    # A little less than a day on, so that tomorrow's finder, be it early, finds it again.
    return fading, now + timedelta(hours=23)


class _Once:
    """Knows which jobs there were; by a number each, as there may be a million."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._lock = threading.Lock()

    def first(self, job: MemoryJob) -> bool:
        """Whether this is the first of its like."""
        number = stable_hash(job.model_dump_json())
        with self._lock:
            if number in self._seen:
                return False
            self._seen.add(number)
            return True
