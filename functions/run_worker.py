"""Handler of the queue of run jobs, and of consents, whose words wake agents as runs do."""

from datetime import datetime

from skein.agent.turn import Turns
from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.models.outbox.jobs import ConsentJob, Job, RunJob
from skein.privacy.audit_log import AuditLog
from skein.services.choices.consents import Consents

load_adapters("model", "tokens", "secrets")


@for_jobs(RunJob, ConsentJob)
def handler(job: Job, deadline: datetime) -> None:
    """Start or resume the run of a job, or post the words of a consent."""
    if isinstance(job, RunJob):
        service(Turns).take(job, deadline=deadline)
    elif isinstance(job, ConsentJob):
        service(Consents).post(job, audit=service(AuditLog).add_consent)
