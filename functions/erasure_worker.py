"""Handler of the queue of erasure jobs."""

from datetime import datetime

from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.models.outbox.jobs import ErasureJob
from skein.privacy.erasure_worker import Eraser

load_adapters("sockets")


@for_jobs(ErasureJob)
def handler(job: ErasureJob, deadline: datetime) -> None:
    """Continue the erasure of a job until the function's deadline."""
    service(Eraser).continue_erasure(job, deadline=deadline)
