"""SQS: what is derived from a chat may have fallen behind."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, preload
from skein.logs import logged
from skein.models.jobs import UpkeepJob
from skein.sqs_events import process

preload("upkeep")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Bring each chat that the event names up to date."""
    return process(event, context, UpkeepJob, app().upkeep.keep)
