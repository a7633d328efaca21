"""Batches of SQS messages as jobs, each handled independently of the others."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from skein import tracing
from skein.hops import handling
from skein.invocations import FailedItems
from skein.models.common.reason import Reason
from skein.models.outbox.jobs import Job

J = TypeVar("J", bound=Job)

logger = logging.getLogger(__name__)


def process(event: dict[str, Any], job_type: type[J], handle: Callable[[J], None]) -> FailedItems:
    """Handle each SQS message as a job, and report those that failed.

    A message that is not a valid `job_type` fails like a message whose handling raised an error:
    SQS redelivers it until it moves to the dead-letter queue. The other messages of the batch are
    not affected.

    Raises:
        LookupError, TypeError: The event is not an SQS event.
    """
    failed = [record for record in event["Records"] if not _done(record, job_type, handle)]
    return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in failed]}


def _done(record: dict[str, Any], job_type: type[J], handle: Callable[[J], None]) -> bool:
    """Handle one message; return whether it succeeded."""
    ids: dict[str, Any] = {"message_id": record["messageId"]}
    try:
        job = job_type.model_validate_json(record["body"])
        ids |= job.model_dump(exclude={"v"})
        with handling(job.hops), tracing.received(record["attributes"].get("AWSTraceHeader")):
            handle(job)
    except Exception as error:
        extra = {"queue": job_type.queue, "reason": Reason.JOB_FAILED, **ids}
        logger.warning("job failed", extra=extra, exc_info=error)
        return False
    return True
