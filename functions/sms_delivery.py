"""Handler of the queue of delivery jobs, which sends SMS and the codes that verify numbers."""

from datetime import datetime

import skein.channels.phone_numbers  # noqa: F401 - the first delivery needs it
from skein.bootstrap import load_adapters, service
from skein.bootstrap.job_handlers import for_jobs
from skein.models.outbox.jobs import DeliveryJob, Job, NumberCodeJob
from skein.services.delivery.number_code_sender import NumberCodeSender
from skein.services.delivery.sender import SmsSender

load_adapters("sms", "secrets")


@for_jobs(DeliveryJob, NumberCodeJob)
def handler(job: Job, deadline: datetime) -> None:
    """Continue the delivery that a job names, or send a code that verifies a number."""
    if isinstance(job, DeliveryJob):
        service(SmsSender).deliver(job, deadline=deadline)
    elif isinstance(job, NumberCodeJob):
        service(NumberCodeSender).send(job)
