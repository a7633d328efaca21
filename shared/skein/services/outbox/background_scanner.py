"""Find due background work and send its jobs.

The tick and the hourly finder use this scanner. Its cost depends on the number of due items, not on
the number of chats, agents or memories.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from skein.models.common.base import stable_hash
from skein.models.common.retry import Retry, minutes
from skein.models.common.storage import Item
from skein.models.outbox.due import DueKind
from skein.models.outbox.jobs import ConsolidationJob, Job, ReflectionJob
from skein.ports import Table
from skein.services.config.pauses import PauseReader
from skein.services.outbox.due_scanner import DueScanner, move_on


class DueJob(NamedTuple):
    """How the job of due background work is sent.

    Attributes:
        job: Returns the job of an item.
        retry: The waits before the job is sent again.
        pauses: Whether the job is held back while background work is paused. The job of a
            reflection is never held back: even during a pause, the reflection's worker must
            preserve fading entries. This worker checks the pauses itself.
    """

    job: Callable[[Item], Job]
    retry: Retry
    pauses: bool = True


def _consolidation(item: Item) -> Job:
    return ConsolidationJob(tenant=item["tenant"], chat_id=item["chat_id"])


def _reflection(item: Item) -> Job:
    return ReflectionJob(tenant=item["tenant"], agent_id=item["agent_id"], scope=item.get("scope"))


# Jobs can wait in their queue for a long time, so they are sent again less and less often. The
# waits of 55 minutes and 23 hours are slightly shorter than the interval of their finder, so the
# next finder finds the item even if it runs early.
DUE_JOBS: Mapping[DueKind, DueJob] = {
    "direct_consolidation": DueJob(_consolidation, Retry(minutes(15, 30, 60))),
    "consolidation": DueJob(_consolidation, Retry(minutes(55))),
    "fading": DueJob(_reflection, Retry(minutes(23 * 60)), pauses=False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundScanner:
    """Sends one job for each chat, and for each partition of an agent, with due background work."""

    table: Table
    due_scanner: DueScanner

    def run(
        self,
        kinds: Sequence[DueKind],
        *,
        until: datetime,
        max_pages: int | None = None,
    ) -> int:
        """Send the jobs of all due items of these kinds, oldest first.

        If a tenant has paused background work, its items are due again after the last wait of
        `DueJob.retry`.

        Args:
            kinds: Keys of `DUE_JOBS`.
            until: When to stop, even if items are left.
            max_pages: The maximum number of pages to read from each shard; None for no limit.

        Returns:
            The number of jobs sent.

        Raises:
            SkeinError: Some items could not be read; the jobs of all other items were sent.
        """
        reader, lock = PauseReader(self.table), threading.Lock()
        sent = set[int]()  # one hash per job to save memory, because there can be a million

        def handle(kind: DueKind, item: Item, now: datetime) -> Job | None:
            due_job = DUE_JOBS[kind]
            job = due_job.job(item)
            paused = due_job.pauses and reader.is_paused("background", job.tenant)
            retry = Retry(due_job.retry.waits[-1:]) if paused else due_job.retry
            move_on(self.table, kind, item, now, retry)
            number = stable_hash(job.model_dump_json())
            with lock:
                if paused or number in sent:
                    return None
                sent.add(number)
            return job

        return self.due_scanner.run(kinds, handle, until=until, max_pages=max_pages)
