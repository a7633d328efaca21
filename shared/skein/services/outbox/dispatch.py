"""Sends jobs to their queues after a commit; what cannot be sent is due a little later anyway."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from skein.errors import Transient
from skein.models.jobs import Job, QueueName
from skein.ports import Metrics, Queues

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """The quick half of the outbox; the slow half is the tick, which finds what was not sent."""

    queues: Queues
    metrics: Metrics

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """Send jobs of any kinds, to be seen after `delay_seconds`.

        Never raises `Transient`: the work is committed, so a caller who gave up now would be
        told of a failure that did not happen. The item's due mark brings it back.
        """
        by_queue: dict[QueueName, list[Job]] = defaultdict(list)
        for job in jobs:
            by_queue[job.queue].append(job)
        for queue, batch in by_queue.items():
            try:
                self.queues.send(batch, delay_seconds=delay_seconds)
            except Transient:
                logger.warning("jobs not sent", extra={"queue": queue, "jobs": len(batch)})
                self.metrics.count("JobsNotSent", len(batch))
