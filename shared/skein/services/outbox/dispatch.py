"""Dispatch: send jobs to their queues after a commit. The tick sends jobs that failed."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from skein.errors import Transient
from skein.models.outbox.jobs import Job, QueueName
from skein.ports import Metrics, Queues

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """The fast path of the outbox; the tick is the slow path."""

    queues: Queues
    metrics: Metrics

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """Send jobs of any kinds to their queues, with a delay of `delay_seconds`.

        This method never raises `Transient`. The work is already committed, so an error would tell
        the caller of a failure that did not happen. The tick finds an unsent job by the due pointer
        of its item.
        """
        by_queue: dict[QueueName, list[Job]] = defaultdict(list)
        for job in jobs:
            by_queue[job.queue].append(job)
        for queue, batch in by_queue.items():
            try:
                self.queues.send(batch, delay_seconds=delay_seconds)
            except Transient:
                logger.warning("failed to send jobs", extra={"queue": queue, "jobs": len(batch)})
                self.metrics.count("JobsNotSent", len(batch))
