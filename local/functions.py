"""Runs the handlers that the template names, as Lambda would: in containers, one event at a time.

A container is a fresh copy of the handler's module. Its process is shared, however, and Powertools
keeps the request that is being answered on a class; so of all functions that answer HTTP, one event
is handled at a time. The queues' workers run in parallel.
"""

import importlib.util
import itertools
import queue
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from local.events import Event
from local.intrinsics import ACCOUNT, REGION
from local.template import ROOT, Function

DEFAULT_CONCURRENCY = 4

Handler = Callable[[Event, "LambdaContext"], Any]

_load_counter = itertools.count(1)


class LambdaContext:
    """What Lambda tells a handler about its invocation."""

    client_context = None
    identity = None
    function_version = "$LATEST"

    def __init__(self, function: Function) -> None:
        self._deadline = time.monotonic() + function.timeout
        self.function_name = function.logical_id
        self.memory_limit_in_mb = function.memory
        self.aws_request_id = str(uuid.uuid4())
        self.invoked_function_arn = (
            f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.function_name}"
        )
        self.log_group_name = f"/aws/lambda/{self.function_name}"
        self.log_stream_name = "local"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds of real time until the function's time-out."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


class Functions:
    """The template's functions, ready to be called.

    Args:
        functions: As the template describes them.
    """

    def __init__(self, functions: Sequence[Function]) -> None:
        http_lock = threading.Lock()
        self._pools = {
            function.logical_id: _Pool(
                function,
                size=1 if function.routes else concurrency(function),
                lock=http_lock if function.routes else nullcontext(),
            )
            for function in functions
        }

    def load(self) -> None:
        """Import every handler, so that what is missing shows at the start."""
        for folder in {str(ROOT / "shared"), *(str(p.function.code) for p in self._pools.values())}:
            if folder not in sys.path:
                sys.path.insert(0, folder)
        for pool in self._pools.values():
            pool.load()

    def invoke(self, function: Function, event: Event) -> Any:
        """Handle one event, once a container is free; what the handler raises goes through."""
        return self._pools[function.logical_id].invoke(event)


def concurrency(function: Function) -> int:
    """How many events of its queues a function handles at once."""
    return max((s.concurrency or DEFAULT_CONCURRENCY for s in function.queues), default=1)


class _Pool:
    """The containers of one function."""

    def __init__(self, function: Function, *, size: int, lock: AbstractContextManager[Any]) -> None:
        self.function = function
        self._size = size
        self._lock = lock
        self._idle: queue.LifoQueue[Handler] = queue.LifoQueue()

    def load(self) -> None:
        for _ in range(self._size):
            self._idle.put(_load(self.function))

    def invoke(self, event: Event) -> Any:
        handler = self._idle.get()
        try:
            with self._lock:
                return handler(event, LambdaContext(self.function))
        finally:
            self._idle.put(handler)


def _load(function: Function) -> Handler:
    module_name, _, attribute = function.handler.rpartition(".")
    path = function.code / (module_name.replace(".", "/") + ".py")
    name = f"{module_name}_container_{next(_load_counter)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module: ModuleType = importlib.util.module_from_spec(spec)
    # Pydantic and dataclasses look annotations up through sys.modules.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    handler: Handler = getattr(module, attribute)
    return handler
