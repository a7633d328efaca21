"""Handler of the queue of erasure jobs."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.invocations import deadline_of
from skein.logs import logged
from skein.models.outbox.jobs import ErasureJob
from skein.services.privacy.erasure_worker import Eraser
from skein.sqs_events import process

load_adapters("sockets")


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Continue the erasure of each job until the function's deadline."""

    def erase(job: ErasureJob) -> None:
        app().get(Eraser).continue_erasure(job, deadline=deadline_of(context, app().ports.clock))

    return process(event, context, ErasureJob, erase)
