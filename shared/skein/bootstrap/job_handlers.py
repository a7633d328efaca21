"""The steps that the handlers of all queues share.

Each message of a batch is a job, which is handled independently of the other jobs.
"""

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein import tracing
from skein.bootstrap import app
from skein.invocations import FailedItems, deadline_of
from skein.logs import Handler, logged
from skein.models.common.reason import Reason
from skein.models.outbox.jobs import Job
from skein.services.outbox.dispatch import handling

J = TypeVar("J", bound=Job)

logger = logging.getLogger(__name__)


def for_jobs(
    *job_types: type[J],
) -> Callable[[Callable[[J, datetime], None]], Handler[FailedItems]]:
    """Turn a function into the handler of a queue.

    The function takes a job and the deadline of the invocation.
    """

    def decorated(take: Callable[[J, datetime], None]) -> Handler[FailedItems]:
        @logged
        def handler(event: dict[str, Any], context: LambdaContext) -> FailedItems:
            deadline = deadline_of(context, app().ports.clock)
            return process(event, job_types, lambda job: take(job, deadline))

        return handler

    return decorated


def process(
    event: dict[str, Any], job_types: Sequence[type[J]], handle: Callable[[J], None]
) -> FailedItems:
    """Handle each SQS message as a job, and report the messages that failed.

    A message fails if its handling raises an error, or if it is not a job of these types. SQS
    redelivers a failed message until it moves the message to the dead-letter queue. The other
    messages of the batch are not affected.

    Raises:
        LookupError, TypeError: The event is not an SQS event.
    """
    failed = [record for record in event["Records"] if not _done(record, job_types, handle)]
    return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in failed]}


def parsed(body: str, job_types: Sequence[type[J]]) -> J:
    """Parse the body of a message as a job of its kind.

    Raises:
        ValueError: The message is not a job of these types.
    """
    content = json.loads(body)
    kind = content.get("kind") if isinstance(content, dict) else None
    for job_type in job_types:
        if job_type.model_fields["kind"].default == kind:
            return job_type.model_validate_json(body)
    raise ValueError(f"no job of this queue has the kind {kind!r}")


def _done(
    record: dict[str, Any], job_types: Sequence[type[J]], handle: Callable[[J], None]
) -> bool:
    """Handle one message; return whether it succeeded."""
    ids: dict[str, Any] = {"message_id": record["messageId"]}
    try:
        job = parsed(record["body"], job_types)
        ids |= job.model_dump(exclude={"v"})
        with handling(job.hops), tracing.received(record["attributes"].get("AWSTraceHeader")):
            handle(job)
    except Exception as error:
        extra = {"queue": job_types[0].queue, "reason": Reason.JOB_FAILED, **ids}
        logger.warning("job failed", extra=extra, exc_info=error)
        return False
    return True
