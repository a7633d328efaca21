"""Handler of the queue of consolidation jobs."""

from datetime import datetime

from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.memory.consolidation import ConsolidationTask
from skein.models.outbox.jobs import ConsolidationJob
from skein.services.background.engine import BackgroundEngine

load_adapters()


@for_jobs(ConsolidationJob)
def handler(job: ConsolidationJob, deadline: datetime) -> None:
    """Make memories from the chat of a job until the function's deadline."""
    service(BackgroundEngine).run(service(ConsolidationTask), job, deadline=deadline)
