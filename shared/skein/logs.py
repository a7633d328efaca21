"""Structured logs: one JSON object a line, with the ids of what was at work when it was written.

Nothing that a person wrote comes out here: numbers are masked, and of an error only our own words
are told (see `skein.masking` and `docs/security.md`).
"""

import functools
import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.correlation import correlated, current
from skein.errors import SkeinError
from skein.masking import in_our_words, masked, traceback_without_words

Answer = TypeVar("Answer")
Handler = Callable[[dict[str, Any], LambdaContext], Answer]
ExceptionInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)

# At INFO, Twilio's library tells the numbers that it asks about, and others every request.
LIBRARIES = ("boto3", "botocore", "httpcore", "httpx", "openai", "requests", "twilio", "urllib3")

logger = logging.getLogger(__name__)


class Crashed(SkeinError):
    """An invocation failed by a bug: says what and where, without the words of the error."""


class Lines(LambdaPowertoolsFormatter):
    """Powertools' lines, with the correlation id and without what people wrote."""

    def serialize(self, log: Any) -> str:
        """One line; the notes of an error are words like its others."""
        told = {name: value for name, value in log.items() if name != "exception_notes"}
        following = current()
        if following is not None:
            told["correlation_id"] = following
        return masked(super().serialize(told))

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - the base's name
        """Where it happened, and what in our own words."""
        return traceback_without_words(ei[1]) if ei[1] is not None else ""


@functools.cache
def _configured() -> Logger:
    """The logger of this process, to which every logger of the package is joined.

    Made at the first invocation, since Powertools reads its level from the environment.
    """
    # Powertools' own form of a stack trace holds the words of the error.
    ours = Logger(service="skein", logger_formatter=Lines(serialize_stacktrace=False))
    utils.copy_config_to_registered_loggers(ours, include={"skein"})
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    return ours


def logged(handler: Handler[Answer]) -> Handler[Answer]:
    """Let whatever `handler` logs come out as JSON, with its name and the request's ids.

    An error that is none of ours is logged here and raised as `Crashed`, since Lambda writes the
    words of what it is left with into the log.
    """

    @functools.wraps(handler)
    def with_logs(event: dict[str, Any], context: LambdaContext) -> Answer:
        within: Handler[Answer] = _configured().inject_lambda_context(guarded, clear_state=True)
        with correlated(_request_id(event)):
            return within(event, context)

    @functools.wraps(handler)
    def guarded(event: dict[str, Any], context: LambdaContext) -> Answer:
        try:
            return handler(event, context)
        except SkeinError:
            raise
        except Exception as error:
            logger.exception("an invocation crashed")
            raise Crashed(in_our_words(error)) from None

    return with_logs


def _request_id(event: dict[str, Any]) -> str | None:
    """The gateway's id of a request, which its access log has, too; None for other events."""
    request = event.get("requestContext")
    found = request.get("requestId") if isinstance(request, dict) else None
    return str(found) if found else None
