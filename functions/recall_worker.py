"""Handler of the queue of recall jobs, which index messages."""

from datetime import datetime

from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.models.outbox.jobs import RecallJob
from skein.recall.recall_worker import RecallWorker

load_adapters("embeddings")


@for_jobs(RecallJob)
def handler(job: RecallJob, deadline: datetime) -> None:
    """Bring the index of a job's messages up to date."""
    service(RecallWorker).take(job, deadline=deadline)
