"""Handler of the queue of summary jobs, for agent summaries and chat summaries."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.bootstrap.ports import load_adapters
from skein.bootstrap.summary_worker import build_summary_renewal
from skein.logs import logged
from skein.models.outbox.jobs import SummaryJob
from skein.sqs_events import process

load_adapters()


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Renew each job's summary, if the summary is behind and its cooldown is over."""
    return process(event, context, SummaryJob, app().get(build_summary_renewal).renew)
