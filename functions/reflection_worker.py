"""Handler of the queue of reflection jobs."""

from datetime import datetime

from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.memory.reflection import ReflectionTask
from skein.models.outbox.jobs import ReflectionJob
from skein.services.background.engine import BackgroundEngine

load_adapters()


@for_jobs(ReflectionJob)
def handler(job: ReflectionJob, deadline: datetime) -> None:
    """Reflect on the partition of a job until the function's deadline."""
    service(BackgroundEngine).run(service(ReflectionTask), job, deadline=deadline)
