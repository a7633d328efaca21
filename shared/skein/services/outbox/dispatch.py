"""Send jobs to their queues after a commit; the tick sends the jobs that could not be sent.

A job that is sent while another job is handled has one hop more than the handled job. All other
jobs have 0 hops. So the dispatch can detect a loop of jobs and stop it.
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
MAX_HOPS = 1_000  # a job with more hops is not sent; the tick continues its work

logger = logging.getLogger(__name__)

_handled: ContextVar[int | None] = ContextVar("hops", default=None)


@contextmanager
def handling(hops: int) -> Iterator[None]:
    """Mark a block as handling a job with `hops` hops; jobs sent in the block get one hop more."""
    before = _handled.set(hops)
    try:
        yield
    finally:
        _handled.reset(before)


def next_hops() -> int:
    """Return the hops of a job that is sent now; 0 if no job is being handled."""
    hops = _handled.get()
    return 0 if hops is None else hops + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """The service that sends jobs right after a commit; the tick sends them if this fails."""

    queues: Queues
    metrics: Metrics

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """Send jobs of any kind to their queues, with a delay of `delay_seconds`.

        This method never raises `Transient`. The work is already committed, so an error would
        report a failure that did not happen. The tick finds an unsent job by the due pointer of its
        item.

        A job with more than `MAX_HOPS` hops is left to the tick, so that a loop of jobs cannot run
        at full speed. The job that the tick sends has no hops.
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
        """Return the jobs by queue, with their hops; no jobs if they are over the hop limit."""
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
