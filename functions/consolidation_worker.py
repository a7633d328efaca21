"""SQS: what was said in a chat is to be remembered by its agents."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, preload
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.jobs import ConsolidationJob
from skein.sqs_events import process

preload("consolidator")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Consolidate each chat that the event names, as far as it is quiet and time allows."""

    def consolidate(job: ConsolidationJob) -> None:
        app().consolidator.consolidate(job, deadline=deadline_of(context, app().clock))

    return process(event, context, ConsolidationJob, consolidate)
