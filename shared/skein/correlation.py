"""Correlation ids, which follow a message through the logs from its webhook to its delivery.

A request has a correlation id, and its messages, runs and deliveries store the id. A worker that
handles one of these follows the stored id, so that every log line has it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

UNKNOWN = ""  # inside `correlated`, before the id is known; outside of it, the value is None

_following: ContextVar[str | None] = ContextVar("correlation_id", default=None)


def current() -> str | None:
    """Return the correlation id of the current work; None if there is none."""
    return _following.get() or None


def follow(correlation_id: str) -> None:
    """Set the correlation id until the enclosing `correlated` ends.

    Outside of `correlated` this does nothing, so that no id outlives its work.
    """
    if _following.get() is not None:
        _following.set(correlation_id)


@contextmanager
def correlated(correlation_id: str | None = None) -> Iterator[None]:
    """Run a piece of work with its own correlation id, then restore the previous id.

    Args:
        correlation_id: The id of the work, if known already; otherwise `follow` sets it.
    """
    before = _following.set(correlation_id or UNKNOWN)
    try:
        yield
    finally:
        _following.reset(before)
