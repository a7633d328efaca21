"""Handler of the queue of run jobs."""

from datetime import datetime

from skein.agent.turn import Turns
from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.models.outbox.jobs import RunJob

load_adapters("model", "tokens", "secrets")


@for_jobs(RunJob)
def handler(job: RunJob, deadline: datetime) -> None:
    """Start or resume the run of a job."""
    service(Turns).take(job, deadline=deadline)
