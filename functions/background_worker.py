"""Handler of the queue of background jobs, such as consolidations, erasures and trials."""

from datetime import datetime

from skein.bootstrap import load_adapters, service
from skein.bootstrap.job_handlers import for_jobs
from skein.memory.consolidation import ConsolidationTask
from skein.memory.reflection import ReflectionTask
from skein.models.outbox.jobs import (
    ConsolidationJob,
    ErasureJob,
    ForgettingJob,
    Job,
    ReflectionJob,
    TrialJob,
    VisitJob,
)
from skein.privacy.erasure_worker import Eraser
from skein.privacy.forgetting import Forgettings
from skein.services.background.engine import BackgroundEngine
from skein.trials.jobs import TrialJobs
from skein.web_chat.visits import Visits

load_adapters("sockets")


@for_jobs(ConsolidationJob, ReflectionJob, ErasureJob, ForgettingJob, TrialJob, VisitJob)
def handler(job: Job, deadline: datetime) -> None:
    """Do the work of a job.

    Jobs make memories, reflect on a journal, erase people, forget messages, forget ended visits, or
    play a trial.
    """
    if isinstance(job, ConsolidationJob):
        service(BackgroundEngine).run(service(ConsolidationTask), job, deadline=deadline)
    elif isinstance(job, ReflectionJob):
        service(BackgroundEngine).run(service(ReflectionTask), job, deadline=deadline)
    elif isinstance(job, ErasureJob):
        service(Eraser).continue_erasure(job, deadline=deadline)
    elif isinstance(job, ForgettingJob):
        service(Forgettings).carry_out(job)
    elif isinstance(job, VisitJob):
        service(Visits).forget(job)
    elif isinstance(job, TrialJob):
        service(TrialJobs).take(job, deadline=deadline)
