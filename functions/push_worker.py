"""Handler of the queue of push jobs, which send frames over the live channel."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.logs import logged
from skein.models.outbox.jobs import PushJob
from skein.services.live.pushes import Pushes
from skein.sqs_events import process

load_adapters("sockets")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Send the frames of each job to the people who may see them."""
    return process(event, context, PushJob, app().get(Pushes).push)
