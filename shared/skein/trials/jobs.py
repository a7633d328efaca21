"""Take the jobs of trials. The modules that play trials are imported only for the first job."""

from dataclasses import dataclass
from datetime import datetime

from skein.models.outbox.jobs import TrialJob
from skein.ports import Services


@dataclass(frozen=True, slots=True)
class TrialJobs:
    """The service that passes jobs to the worker of trials."""

    services: Services

    def take(self, job: TrialJob, *, deadline: datetime) -> None:
        """Play a case of a trial; see `TrialWorker.take`."""
        from skein.trials.worker import TrialWorker  # noqa: PLC0415 - it needs all of a turn

        self.services.get(TrialWorker).take(job, deadline=deadline)
