"""Handler of the queue of push jobs, which send frames over the live channel."""

from datetime import datetime

from skein.bootstrap import load_adapters, service
from skein.bootstrap.job_handlers import for_jobs
from skein.live.pushes import Pushes
from skein.models.outbox.jobs import PushJob

load_adapters("sockets")


@for_jobs(PushJob)
def handler(job: PushJob, _deadline: datetime) -> None:
    """Send the frames of a job to the people who may see them."""
    service(Pushes).push(job)
