"""Structured logs: one JSON object a line, with the ids of the invocation that wrote it."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils
from aws_lambda_powertools.utilities.typing import LambdaContext

Answer = TypeVar("Answer")
Handler = Callable[[dict[str, Any], LambdaContext], Answer]


@functools.cache
def _configured() -> Logger:
    """The logger of this process, to which every logger of the package is joined.

    Made at the first invocation, since Powertools reads its level from the environment.
    """
    logger = Logger(service="skein")
    utils.copy_config_to_registered_loggers(logger, include={"skein"})
    return logger


def logged(handler: Handler[Answer]) -> Handler[Answer]:
    """Let whatever `handler` logs come out as JSON, with the function's name and request id."""

    @functools.wraps(handler)
    def with_logs(event: dict[str, Any], context: LambdaContext) -> Answer:
        within: Handler[Answer] = _configured().inject_lambda_context(handler, clear_state=True)
        return within(event, context)

    return with_logs
