"""Handler of the queue of run jobs, and of what follows from choices: posts and questions."""

from datetime import datetime

from skein.agent.turn import Turns
from skein.bootstrap import service
from skein.bootstrap.job_handlers import for_jobs
from skein.bootstrap.ports import load_adapters
from skein.desk.returning import Returns
from skein.desk.waiting import WaitingStays
from skein.models.outbox.jobs import ConsentJob, DeskJob, InvitationJob, Job, RunJob
from skein.privacy.audit_log import AuditLog
from skein.services.choices.consents import Consents
from skein.services.choices.invitations import Invitations

load_adapters("model", "tokens", "secrets")


@for_jobs(RunJob, ConsentJob, InvitationJob, DeskJob)
def handler(job: Job, deadline: datetime) -> None:
    """Work on a run, post words of a consent, ask about an invitation, or look at the desk."""
    if isinstance(job, RunJob):
        service(Turns).take(job, deadline=deadline)
    elif isinstance(job, ConsentJob):
        service(Consents).post(job, audit=service(AuditLog).add_consent)
    elif isinstance(job, InvitationJob):
        service(Invitations).ask(job)
    elif isinstance(job, DeskJob):
        service(WaitingStays).look(job)
        service(Returns).look(job)
