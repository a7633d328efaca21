"""Runner of the template's handlers, in place of Lambda.

All handlers run in this process, with one thread per concurrent event.
"""

import importlib
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from local.events import Event
from local.intrinsics import function_arn
from local.template import ROOT, Function
from skein.correlation import invocation

MAX_CONCURRENCY = 4

Handler = Callable[[Event, "LambdaContext"], Any]


class LambdaContext:
    """The context object that Lambda passes to a handler with each invocation."""

    client_context = None
    identity = None
    function_version = "$LATEST"

    def __init__(self, function: Function) -> None:
        self._deadline = time.monotonic() + function.timeout
        name = function.logical_id
        self.function_name = name
        self.memory_limit_in_mb = function.memory
        self.aws_request_id = str(uuid.uuid4())
        self.invoked_function_arn = function_arn(name)
        self.log_group_name = f"/aws/lambda/{name}"
        self.log_stream_name = "local"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds of real time until the function's timeout."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


class Invoker(Protocol):
    """Port that runs functions."""

    def invoke(self, function: Function, event: Event) -> Any:
        """Call a function with one event and return its result. Its exceptions are not caught."""
        ...


class Functions:
    """Imports the functions' handlers and calls them in this process; see `Invoker`.

    Args:
        functions: The template's functions.
    """

    def __init__(self, functions: Sequence[Function]) -> None:
        for folder in {str(ROOT / "shared"), *(str(function.code) for function in functions)}:
            if folder not in sys.path:
                sys.path.insert(0, folder)
        self._handlers = {function.logical_id: _load(function) for function in functions}

    def invoke(self, function: Function, event: Event) -> Any:
        """Call a function's handler in this thread. Its exceptions are not caught.

        The log lines of the call have the function's name.
        """
        context = LambdaContext(function)
        with invocation(context):
            return self._handlers[function.logical_id](event, context)


def concurrency(function: Function, most: int = MAX_CONCURRENCY) -> int:
    """Return how many batches of a queue a function may handle at once, at most `most`."""
    allowed = (source.concurrency or most for source in function.queues)
    return min(most, max(allowed, default=most))


def _load(function: Function) -> Handler:
    module, _, attribute = function.handler.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module), attribute)
    return handler
