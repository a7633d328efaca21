"""Batches of SQS messages as jobs, each handled independently of the others."""

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

from skein import tracing
from skein.hops import handling
from skein.models.common.reason import Reason
from skein.models.outbox.jobs import Job

J = TypeVar("J", bound=Job)

logger = logging.getLogger(__name__)


def process(
    event: dict[str, Any], context: LambdaContext, job_type: type[J], handle: Callable[[J], None]
) -> PartialItemFailureResponse:
    """Handle each SQS message as a job, and report those that failed.

    A message that is not a valid `job_type` fails like a message whose handling raised an error:
    SQS redelivers it until it moves to the dead-letter queue. The other messages of the batch are
    not affected.

    Raises:
        UnexpectedBatchTypeError: The event is not an SQS event.
    """

    def take(record: SQSRecord) -> None:
        ids: dict[str, Any] = {"message_id": record.message_id}
        try:
            job = job_type.model_validate_json(record.body)
            ids |= job.model_dump(exclude={"v"})
            header = record.attributes.aws_trace_header
            with handling(job.hops), tracing.received(header):
                handle(job)
        except Exception:
            # The processor logs the error next, but without these ids.
            extra = {"queue": job_type.queue, "reason": Reason.JOB_FAILED, **ids}
            logger.warning("job failed", extra=extra)
            raise

    return process_partial_response(
        event=event,
        record_handler=take,
        processor=BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False, logger=logger),
        context=context,
    )
