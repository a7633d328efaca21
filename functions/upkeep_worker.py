"""Handler of the queues of upkeep jobs, files, sources and events."""

from datetime import datetime

from skein.bootstrap import load_adapters, service
from skein.bootstrap.job_handlers import for_jobs
from skein.events.sending import EventSender
from skein.knowledge.reading import SourceReader
from skein.media.describing import Descriptions
from skein.media.receiving import MediaReceiver
from skein.models.outbox.jobs import (
    EventJob,
    Job,
    MediaJob,
    RecallJob,
    SourceJob,
    SummaryJob,
    UpkeepJob,
)
from skein.recall.recall_worker import RecallWorker
from skein.services.background.engine import BackgroundEngine
from skein.summaries.renewal import SummaryTasks
from skein.summaries.upkeep import Upkeep

load_adapters("embeddings")


@for_jobs(UpkeepJob, SummaryJob, RecallJob, EventJob, MediaJob, SourceJob)
def handler(job: Job, deadline: datetime) -> None:
    """Update a chat's derived data, index messages, send events, or read files and sources."""
    if isinstance(job, UpkeepJob):
        service(Upkeep).keep(job)
    elif isinstance(job, SummaryJob):
        service(BackgroundEngine).run(service(SummaryTasks).of(job), job, deadline=deadline)
    elif isinstance(job, RecallJob):
        service(RecallWorker).take(job, deadline=deadline)
    elif isinstance(job, EventJob):
        service(EventSender).send(job, deadline=deadline)
    elif isinstance(job, MediaJob):
        service(MediaReceiver).take(job)
        service(Descriptions).describe(job, deadline=deadline)
    elif isinstance(job, SourceJob):
        service(SourceReader).take(job, deadline=deadline)
