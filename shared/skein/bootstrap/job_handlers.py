"""Handlers of queues: the steps that all workers share."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.invocations import FailedItems, deadline_of
from skein.logs import Handler, logged
from skein.models.outbox.jobs import Job
from skein.sqs_events import process

J = TypeVar("J", bound=Job)


def for_jobs(
    *job_types: type[J],
) -> Callable[[Callable[[J, datetime], None]], Handler[FailedItems]]:
    """Turn a function of a job and the invocation's deadline into the handler of a queue."""

    def decorated(take: Callable[[J, datetime], None]) -> Handler[FailedItems]:
        @logged
        def handler(event: dict[str, Any], context: LambdaContext) -> FailedItems:
            deadline = deadline_of(context, app().ports.clock)
            return process(event, job_types, lambda job: take(job, deadline))

        return handler

    return decorated
