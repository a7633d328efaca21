"""The fields that each log line has: the running function, and the correlation id of its work.

Correlation ids follow a message through the logs from its webhook to its delivery. A request has a
correlation id, and its messages, runs and deliveries store the id. A worker takes the id from the
item that it works on. So all log lines about a message have the same id.

On one machine, all functions run in one process at the same time. So the fields of an invocation
are kept in a context variable and not in the logger, which all functions share.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from skein import tracing

UNKNOWN = ""  # inside `correlated`, before the id is known; outside of it, the value is None

_invocation: ContextVar[Mapping[str, Any] | None] = ContextVar("invocation", default=None)
_following: ContextVar[str | None] = ContextVar("correlation_id", default=None)


def current() -> str | None:
    """Return the correlation id of the current work; None if it is unknown."""
    return _following.get() or None


def follow(correlation_id: str) -> None:
    """Set the correlation id until the enclosing `correlated` ends.

    Outside of `correlated` this does nothing, so that no id outlives its work.
    """
    if _following.get() is not None:
        _following.set(correlation_id)
        tracing.identify(correlation_id)


@contextmanager
def correlated(correlation_id: str | None = None) -> Iterator[None]:
    """Run a block of work with its own correlation id, then restore the previous id.

    The block is a segment of the trace with this correlation id (see `skein.tracing`).

    Args:
        correlation_id: The id of the work, if it is already known; otherwise `follow` sets it.
    """
    before = _following.set(correlation_id or UNKNOWN)
    name = current_invocation().get("function_name", "skein")
    try:
        with tracing.segment(name, correlation_id):
            yield
    finally:
        _following.reset(before)


class InvocationContext(Protocol):
    """The parts of Lambda's context object that log lines contain."""

    @property
    def function_name(self) -> str: ...

    @property
    def memory_limit_in_mb(self) -> int: ...

    @property
    def invoked_function_arn(self) -> str: ...

    @property
    def aws_request_id(self) -> str: ...


def current_invocation() -> Mapping[str, Any]:
    """Return the log fields of the current invocation; empty outside of an invocation."""
    return _invocation.get() or {}


@contextmanager
def invocation(context: InvocationContext) -> Iterator[None]:
    """Add the function and its request to all log lines of the block."""
    before = _invocation.set(
        {
            "function_name": context.function_name,
            "function_memory_size": context.memory_limit_in_mb,
            "function_arn": context.invoked_function_arn,
            "function_request_id": context.aws_request_id,
        }
    )
    try:
        yield
    finally:
        _invocation.reset(before)
