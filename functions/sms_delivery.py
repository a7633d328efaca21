"""Handler of the queue of delivery jobs, which sends SMS."""

from datetime import datetime

from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.models.outbox.jobs import DeliveryJob
from skein.services.delivery.sender import SmsSender

load_adapters("sms", "secrets")


@for_jobs(DeliveryJob)
def handler(job: DeliveryJob, deadline: datetime) -> None:
    """Continue the delivery of a job."""
    service(SmsSender).deliver(job, deadline=deadline)
