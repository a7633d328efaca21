"""Handler of the queue of upkeep jobs, which update a chat's derived records."""

from datetime import datetime

from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.models.outbox.jobs import UpkeepJob
from skein.summaries.upkeep import Upkeep

load_adapters()


@for_jobs(UpkeepJob)
def handler(job: UpkeepJob, _deadline: datetime) -> None:
    """Update the derived records of a job's chat."""
    service(Upkeep).keep(job)
