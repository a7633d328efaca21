"""Handler of the queue of recall jobs, which index messages."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.jobs import RecallJob
from skein.services.recall.recall_worker import RecallWorker
from skein.sqs_events import process

load_adapters("embeddings")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Bring the index of each job's messages up to date."""

    def take(job: RecallJob) -> None:
        deadline = deadline_of(context, app().ports.clock)
        app().get(RecallWorker).take(job, deadline=deadline)

    return process(event, context, RecallJob, take)
