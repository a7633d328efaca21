"""Handler of the queue of summary jobs, for agent summaries, chat summaries and titles."""

from datetime import datetime

from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.models.outbox.jobs import SummaryJob
from skein.services.background.engine import BackgroundEngine
from skein.summaries.renewal import SummaryTasks

load_adapters()


@for_jobs(SummaryJob)
def handler(job: SummaryJob, deadline: datetime) -> None:
    """Renew the summary of a job, if the summary is behind and its cooldown is over."""
    service(BackgroundEngine).run(service(SummaryTasks).of(job), job, deadline=deadline)
