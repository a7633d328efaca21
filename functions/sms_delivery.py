"""Handler of the queue of delivery jobs, which sends SMS."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.jobs import DeliveryJob
from skein.services.delivery.sender import SmsSender
from skein.sqs_events import process

load_adapters("sms", "secrets")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Continue the delivery of each job."""
    deadline = deadline_of(context, app().ports.clock)
    return process(
        event,
        context,
        DeliveryJob,
        lambda job: app().get(SmsSender).deliver(job, deadline=deadline),
    )
