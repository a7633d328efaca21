"""Every day: finds the agents some of whose journal entries are about to fade.

Its cost depends on the entries that are due, not on how many agents or memories there are.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.models.base import stable_hash
from skein.models.due import DueKind
from skein.models.jobs import ReflectionJob
from skein.models.storage import Item
from skein.ports import Table
from skein.services.outbox.due_scanner import ALL_SHARDS, Finder, move_on


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionFinder:
    """Sends a job for each partition of an agent in which something fades."""

    table: Table
    finder: Finder

    def run(self, *, until: datetime, shards: Sequence[int] = ALL_SHARDS) -> int:
        """Send the jobs for what is due, until there is no more or `until` has come.

        Args:
            until: When to stop.
            shards: Which shards of the index to look at; an agent has entries in several, so as
                many finders may send a job for it.

        Returns:
            How many jobs were sent.

        Raises:
            SkeinError: Some entries could not be read; all others have been sent.
        """
        once = _Once()

        def handle(kind: DueKind, item: Item, now: datetime) -> ReflectionJob | None:
            job = ReflectionJob(
                tenant=item["tenant"], agent_id=item["agent_id"], scope=item.get("scope")
            )
            move_on(self.table, kind, item, _next_day(now))
            return job if once.first(job) else None

        return self.finder.run(["fading"], handle, until=until, shards=shards)


class _Once:
    """Knows which jobs there were; by a number each, as there may be a million."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._lock = threading.Lock()

    def first(self, job: ReflectionJob) -> bool:
        """Whether this is the first of its like."""
        number = stable_hash(job.model_dump_json())
        with self._lock:
            if number in self._seen:
                return False
            self._seen.add(number)
            return True


def _next_day(now: datetime) -> datetime:
    """A little less than a day on, so that tomorrow's finder, be it early, finds it again."""
    return now + timedelta(hours=23)
