"""Dispatch: send jobs to their queues after a commit. The tick sends jobs that failed.

A job that is sent while another job is handled has one hop more than that job. All other jobs have
0 hops. So the dispatch can detect a loop of jobs and stop it.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta

from skein.errors import Transient
from skein.models.outbox.jobs import Job, QueueName
from skein.ports import Metrics, Queues

OUTBOX_GRACE = timedelta(seconds=60)  # the tick sends work that was not sent within this time
MAX_HOPS = 1_000  # of a job; beyond that, the tick continues its work

logger = logging.getLogger(__name__)

_handled: ContextVar[int | None] = ContextVar("hops", default=None)


@contextmanager
def handling(hops: int) -> Iterator[None]:
    """Handle a job with `hops` hops in this block; jobs sent in the block get one hop more."""
    before = _handled.set(hops)
    try:
        yield
    finally:
        _handled.reset(before)


def next_hops() -> int:
    """Return the hops of a job that is sent now; 0 outside of a job."""
    hops = _handled.get()
    return 0 if hops is None else hops + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """The fast path of the outbox; the tick is the slow path."""

    queues: Queues
    metrics: Metrics

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """Send jobs of any kinds to their queues, with a delay of `delay_seconds`.

        This method never raises `Transient`. The work is already committed, so an error would
        report a failure that did not happen. The tick finds an unsent job by the due pointer of its
        item. A job with more than `MAX_HOPS` hops is not sent either, so that a loop of jobs cannot
        run at full speed. The tick's job has no hops.
        """
        for queue, batch in self._stamped(jobs).items():
            try:
                self.queues.send(batch, delay_seconds=delay_seconds)
            except Transient:
                logger.warning("failed to send jobs", extra={"queue": queue, "jobs": len(batch)})
                self.metrics.count("JobsNotSent", len(batch))

    def send_surely(self, jobs: Sequence[Job]) -> None:
        """Send jobs that have no due pointer; only the caller can retry them.

        Raises:
            Transient: A queue did not accept some or all of its jobs.
        """
        for batch in self._stamped(jobs).values():
            self.queues.send(batch)

    def _stamped(self, jobs: Sequence[Job]) -> dict[QueueName, list[Job]]:
        """Return the jobs by queue, with their hops; jobs over the limit are left out."""
        hops = next_hops()
        by_queue: dict[QueueName, list[Job]] = defaultdict(list)
        for job in jobs:
            by_queue[job.queue].append(job.model_copy(update={"hops": hops}))
        if hops <= MAX_HOPS:
            return by_queue
        for queue, batch in by_queue.items():
            logger.warning(
                "hop limit reached, jobs left to the tick",
                extra={"queue": queue, "jobs": len(batch), "hops": hops},
            )
            self.metrics.count("HopLimitReached", len(batch))
        return {}
