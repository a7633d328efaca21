"""Finder of due chats and fading journal entries; sends the consolidation and reflection jobs.

The cost depends on the number of due items, not on the number of chats, agents or memories.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from skein.models.common.base import stable_hash
from skein.models.common.storage import Item
from skein.models.outbox.due import DueKind
from skein.models.outbox.jobs import ConsolidationJob, ReflectionJob
from skein.ports import Table
from skein.services.config.pauses import PauseReader
from skein.services.memory.consolidation_schedule import next_hour
from skein.services.outbox.due_scanner import ALL_SHARDS, DueScanner, move_on

MemoryJob = ConsolidationJob | ReflectionJob


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFinder:
    """Finder that sends one job for each due chat, or for each agent's due partition.

    Attributes:
        kind: `consolidation` finds chats, hourly; the worker checks whether a chat is quiet.
            `fading` finds partitions in which a journal entry fades, daily.
        due_scanner: The scanner of the due index.
    """

    kind: Literal["consolidation", "fading"]
    table: Table
    due_scanner: DueScanner

    def run(self, *, until: datetime, shards: Sequence[int] = ALL_SHARDS) -> int:
        """Send the jobs of all due items, oldest first.

        A chat whose tenant has paused background work is skipped, and due again in an hour. The
        worker of reflections looks at pauses itself, because it keeps fading entries meanwhile.

        Args:
            until: When to stop, even if items are left.
            shards: The shards of the due index to scan. An agent has entries in several shards, so
                finders on different shards can each send a job for the agent.

        Returns:
            The number of jobs sent.

        Raises:
            SkeinError: Some chats or entries could not be read; the jobs of all others were sent.
        """
        seen, reader = _SeenJobs(), PauseReader(self.table)

        def handle(kind: DueKind, item: Item, now: datetime) -> MemoryJob | None:
            job, again = _job_of(kind, item, now)
            move_on(self.table, kind, item, again)
            if kind == "consolidation" and reader.is_paused("background", job.tenant):
                return None
            return job if seen.add(job) else None

        return self.due_scanner.run([self.kind], handle, until=until, shards=shards)


def _job_of(kind: DueKind, item: Item, now: datetime) -> tuple[MemoryJob, datetime]:
    """Return the job for a due item, and when the item is due again."""
    if kind == "consolidation":
        job = ConsolidationJob(tenant=item["tenant"], chat_id=item["chat_id"])
        return job, next_hour(now)
    fading = ReflectionJob(
        tenant=item["tenant"], agent_id=item["agent_id"], scope=item.get("scope")
    )
    # An hour less than a day, so that tomorrow's finder finds the entry even if it runs early.
    return fading, now + timedelta(hours=23)


class _SeenJobs:
    """Set of jobs; stores one hash per job, because there can be a million."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._lock = threading.Lock()

    def add(self, job: MemoryJob) -> bool:
        """Add a job; return whether the job is new (thread-safe)."""
        number = stable_hash(job.model_dump_json())
        with self._lock:
            if number in self._seen:
                return False
            self._seen.add(number)
            return True
