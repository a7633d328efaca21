"""Handler of the queue of runs, and of jobs of choices, the desk, errands and outreach."""

from datetime import datetime

from skein.agent.turn import Turns
from skein.bootstrap import load_adapters, service
from skein.bootstrap.job_handlers import for_jobs
from skein.desk.returning import Returns
from skein.desk.waiting import WaitingStays
from skein.errands.errand_work import ErrandWorker
from skein.errands.meeting_work import MeetingWorker
from skein.models.outbox.jobs import (
    ConsentJob,
    DeskJob,
    ErrandJob,
    InvitationJob,
    Job,
    MeetingJob,
    OutreachJob,
    RunJob,
)
from skein.outreach.sending import OutreachSender
from skein.privacy.audit_log import AuditLog
from skein.services.choices.consents import Consents
from skein.services.choices.invitation_texts import InvitationTexts

load_adapters("model", "tokens", "secrets")


@for_jobs(RunJob, ConsentJob, InvitationJob, DeskJob, ErrandJob, MeetingJob, OutreachJob)
def handler(job: Job, deadline: datetime) -> None:
    """Do the work of a job.

    A job is about a run, the effects of a choice, an errand, a meeting, the desk or outreach.
    """
    if isinstance(job, RunJob):
        service(Turns).take(job, deadline=deadline)
    elif isinstance(job, ConsentJob):
        service(Consents).post(job, audit=service(AuditLog).add_consent)
    elif isinstance(job, InvitationJob):
        service(InvitationTexts).ask(job)
    elif isinstance(job, ErrandJob):
        service(ErrandWorker).look(job)
    elif isinstance(job, MeetingJob):
        service(MeetingWorker).look(job)
    elif isinstance(job, DeskJob):
        service(WaitingStays).look(job)
        service(Returns).look(job)
    elif isinstance(job, OutreachJob):
        service(OutreachSender).take(job)
