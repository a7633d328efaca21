"""Handler of the queue of run jobs."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, preload
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.jobs import RunJob
from skein.sqs_events import process

preload("turns", "model", "tokens", "secrets")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Start or resume the run of each job."""
    deadline = deadline_of(context, app().clock)
    return process(event, context, RunJob, lambda job: app().turns.take(job, deadline=deadline))
