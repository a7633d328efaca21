"""Structured logs: one JSON object per line, with the ids of the current work.

Logs never contain what people write. Phone numbers are masked, and only the messages of Skein's own
errors are logged (see `skein.masking` and `docs/threat-model.md`).
"""

import functools
import logging
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.correlation import correlated, current, current_invocation, invocation
from skein.errors import SkeinError
from skein.masking import in_our_words, masked, traceback_without_words
from skein.models.common.reason import Reason

Answer = TypeVar("Answer")
Handler = Callable[[dict[str, Any], LambdaContext], Answer]
ExceptionInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)

# At INFO, Twilio's library logs phone numbers, and the others log every request.
LEVEL_VARIABLE = "POWERTOOLS_LOG_LEVEL"
LIBRARIES = ("botocore", "httpcore2", "httpx2", "openai", "requests", "twilio", "urllib3")

logger = logging.getLogger(__name__)


class Crashed(SkeinError):
    """An invocation failed because of a bug; the message names the error's type and its place."""


class LogFormatter(LambdaPowertoolsFormatter):
    """Formats log lines with the fields of the invocation, and without what people wrote."""

    def serialize(self, log: Any) -> str:
        """Return a line with masked phone numbers, and without error notes (may quote people)."""
        shown = {name: value for name, value in log.items() if name != "exception_notes"}
        shown.update(current_invocation())
        following = current()
        if following is not None:
            shown["correlation_id"] = following
        return masked(super().serialize(shown))

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - the base's name
        """Return the traceback without the messages of errors that Skein doesn't define."""
        return traceback_without_words(ei[1]) if ei[1] is not None else ""


@functools.cache
def _configured() -> Logger:
    """Return the logger of this process; all loggers of the package get the same configuration.

    The logger is built at the first invocation, because Powertools reads the log level from the
    environment.
    """
    # Powertools' serialized stack trace would contain the error's message.
    formatter = LogFormatter(serialize_stacktrace=False, utc=True, use_rfc3339=True)
    ours = Logger(service="skein", logger_formatter=formatter)
    # Powertools prefers Lambda's own level, which must stay verbose enough for metrics.
    logging.getLogger(ours.name).setLevel(os.environ.get(LEVEL_VARIABLE) or logging.INFO)
    utils.copy_config_to_registered_loggers(ours, include={"skein"})
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    return ours


def logged(handler: Handler[Answer]) -> Handler[Answer]:
    """Wrap `handler` so that it logs JSON, with its name and the request's ids.

    An error that leaves the handler is logged here with a reason. An error that is not a
    `SkeinError` is raised as `Crashed`, since Lambda writes the message of an unhandled error to
    the log.
    """

    @functools.wraps(handler)
    def with_logs(event: dict[str, Any], context: LambdaContext) -> Answer:
        _configured()
        with invocation(context), correlated(_request_id(event)):
            return guarded(event, context)

    @functools.wraps(handler)
    def guarded(event: dict[str, Any], context: LambdaContext) -> Answer:
        try:
            return handler(event, context)
        except SkeinError:
            logger.exception("invocation failed", extra=_reason(event))
            raise
        except Exception as error:
            logger.exception("invocation crashed", extra=_reason(event))
            raise Crashed(in_our_words(error)) from None

    return with_logs


def _request_id(event: dict[str, Any]) -> str | None:
    """Return the gateway's request id; None for events without a request id.

    The request id is also in the gateway's access log.
    """
    request = event.get("requestContext")
    found = request.get("requestId") if isinstance(request, dict) else None
    return str(found) if found else None


def _reason(event: dict[str, Any]) -> dict[str, Reason]:
    """Return the reason of an error that leaves a handler, as a log field.

    For an HTTP request, to which the gateway responds with 500, the reason is `SERVER_ERROR`. For a
    batch of jobs, which SQS delivers again, it is `JOB_FAILED`. A scheduled invocation has no
    reason.
    """
    if "requestContext" in event:
        return {"reason": Reason.SERVER_ERROR}
    return {"reason": Reason.JOB_FAILED} if "Records" in event else {}
