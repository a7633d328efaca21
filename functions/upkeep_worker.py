"""Handler of the queue of upkeep jobs, which update a chat's derived records."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.logs import logged
from skein.models.outbox.jobs import UpkeepJob
from skein.services.summaries.upkeep import Upkeep
from skein.sqs_events import process

load_adapters()


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Update the derived records of each job's chat."""
    return process(event, context, UpkeepJob, app().get(Upkeep).keep)
