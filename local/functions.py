"""Runs the handlers that the template names, as Lambda would.

All of them live in this one process, in as many threads at once as there are events.
"""

import importlib
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from local.events import Event
from local.intrinsics import ACCOUNT, REGION
from local.template import ROOT, Function

MAX_AT_ONCE = 4

Handler = Callable[[Event, "LambdaContext"], Any]


class LambdaContext:
    """What Lambda tells a handler about its invocation."""

    client_context = None
    identity = None
    function_version = "$LATEST"

    def __init__(self, function: Function) -> None:
        self._deadline = time.monotonic() + function.timeout
        name = function.logical_id
        self.function_name = name
        self.memory_limit_in_mb = function.memory
        self.aws_request_id = str(uuid.uuid4())
        self.invoked_function_arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
        self.log_group_name = f"/aws/lambda/{name}"
        self.log_stream_name = "local"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds of real time until the function's time-out."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


class Invoker(Protocol):
    """Where functions run."""

    def invoke(self, function: Function, event: Event) -> Any:
        """What a function returns for one event; what it raises goes through."""
        ...


class Functions:
    """The template's functions, imported and ready to be called.

    Args:
        functions: As the template describes them.
    """

    def __init__(self, functions: Sequence[Function]) -> None:
        for folder in {str(ROOT / "shared"), *(str(function.code) for function in functions)}:
            if folder not in sys.path:
                sys.path.insert(0, folder)
        self._handlers = {function.logical_id: _load(function) for function in functions}

    def invoke(self, function: Function, event: Event) -> Any:
        """Handle one event in this thread; what the handler raises goes through."""
        return self._handlers[function.logical_id](event, LambdaContext(function))


def concurrency(function: Function, most: int = MAX_AT_ONCE) -> int:
    """How many batches of its queues a function handles at once, of as many as there may be."""
    allowed = (source.concurrency or most for source in function.queues)
    return min(most, max(allowed, default=most))


def _load(function: Function) -> Handler:
    module, _, attribute = function.handler.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module), attribute)
    return handler
