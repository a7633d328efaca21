"""Handler of the queue of run jobs."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.agent.turn import Turns
from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.jobs import RunJob
from skein.sqs_events import process

load_adapters("model", "tokens", "secrets")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Start or resume the run of each job."""
    deadline = deadline_of(context, app().ports.clock)
    return process(
        event, context, RunJob, lambda job: app().get(Turns).take(job, deadline=deadline)
    )
