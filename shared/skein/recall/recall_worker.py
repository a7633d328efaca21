"""Recall worker: index the messages that a job names, or send the jobs of a rebuild."""

from dataclasses import dataclass
from datetime import datetime

from skein.models.outbox.jobs import RecallJob
from skein.recall.indexing import RecallIndexing
from skein.recall.rebuild import RecallRebuild


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallWorker:
    """Worker that keeps the index of recall up to date."""

    indexing: RecallIndexing
    rebuild: RecallRebuild

    def take(self, job: RecallJob, *, deadline: datetime) -> None:
        """Carry out a job until 30 seconds before the deadline (idempotent).

        Raises:
            Transient: The table or the queue failed. The job can be repeated.
        """
        if job.chat_id is None:
            self.rebuild.send_jobs(job, deadline=deadline)
        else:
            self.indexing.index(job, deadline=deadline)
