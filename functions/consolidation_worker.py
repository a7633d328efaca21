"""Handler of the queue of consolidation jobs."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.background import build_engine
from skein.bootstrap.consolidation_worker import build_consolidation
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.jobs import ConsolidationJob
from skein.sqs_events import process

load_adapters()


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Run the consolidation of each job until the function's deadline."""

    def consolidate(job: ConsolidationJob) -> None:
        task, deadline = app().get(build_consolidation), deadline_of(context, app().ports.clock)
        app().get(build_engine).run(task, job, deadline=deadline)

    return process(event, context, ConsolidationJob, consolidate)
