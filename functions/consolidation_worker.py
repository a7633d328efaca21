"""Handler of the queue of consolidation jobs."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.jobs import ConsolidationJob
from skein.services.background.engine import BackgroundEngine
from skein.services.memory.consolidation import ConsolidationTask
from skein.sqs_events import process

load_adapters()


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Run the consolidation of each job until the function's deadline."""

    def consolidate(job: ConsolidationJob) -> None:
        task, deadline = app().get(ConsolidationTask), deadline_of(context, app().ports.clock)
        app().get(BackgroundEngine).run(task, job, deadline=deadline)

    return process(event, context, ConsolidationJob, consolidate)
