"""SQS: an agent is to keep for good what of its journal it does not want to forget."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, preload
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.jobs import ReflectionJob
from skein.sqs_events import process

preload("reflection")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Let each agent that the event names reflect, as far as time allows."""

    def reflect(job: ReflectionJob) -> None:
        app().reflection.reflect(job, deadline=deadline_of(context, app().clock))

    return process(event, context, ReflectionJob, reflect)
