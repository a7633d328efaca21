"""SQS: an agent's note on a chat, or a chat's shared summary, has fallen behind."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, preload
from skein.logs import logged
from skein.models.jobs import SummaryJob
from skein.sqs_events import process

preload("renewing")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Renew each summary that the event names, unless that has been done or is too early."""
    return process(event, context, SummaryJob, app().renewing.renew)
