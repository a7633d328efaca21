"""Handler of the queue of summary jobs, for agent summaries, chat summaries and titles."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.jobs import SummaryJob
from skein.services.background.engine import BackgroundEngine
from skein.services.summaries.renewal import SummaryTasks
from skein.sqs_events import process

load_adapters()


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Renew each job's summary, if the summary is behind and its cooldown is over."""

    def renew(job: SummaryJob) -> None:
        task = app().get(SummaryTasks).of(job)
        app().get(BackgroundEngine).run(task, job, deadline=deadline_of(context, app().ports.clock))

    return process(event, context, SummaryJob, renew)
