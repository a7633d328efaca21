"""How a batch of queue messages becomes jobs: each stands or falls on its own."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.models.jobs import Job

J = TypeVar("J", bound=Job)

logger = logging.getLogger(__name__)


def process(
    event: dict[str, Any], context: LambdaContext, job_type: type[J], handle: Callable[[J], None]
) -> PartialItemFailureResponse:
    """Hand each message of an SQS event to `handle` as a job, and report those that failed.

    A message that is no `job_type` fails like one whose handling raised: SQS gives it again until
    it lands in the dead-letter queue. The others of the batch are not touched by that.

    Raises:
        UnexpectedBatchTypeError: This is no SQS event.
    """

    def take(record: SQSRecord) -> None:
        job = job_type.model_validate_json(record.body)
        try:
            handle(job)
        except Exception:
            # What it was is logged next, by the processor, which knows no ids.
            ids = job.model_dump(exclude={"v"})
            logger.warning("a job failed", extra={"queue": job.queue, **ids})
            raise

    return process_partial_response(
        event=event,
        record_handler=take,
        processor=BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False, logger=logger),
        context=context,
    )
