"""The one id by which a message is followed through the logs: from its webhook to its delivery.

A request brings it, messages, runs and deliveries carry it on, and whoever works at one of those
follows it, so that every line that is logged meanwhile has it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

UNKNOWN = ""  # within a piece of work whose id is not known yet; None is outside of any

_following: ContextVar[str | None] = ContextVar("correlation_id", default=None)


def current() -> str | None:
    """The id of what is being worked at; None where nothing is followed."""
    return _following.get() or None


def follow(correlation_id: str) -> None:
    """From here to the end of the enclosing `correlated`, what is done belongs to this id.

    Outside of any it does nothing, so that no id outlives its piece of work.
    """
    if _following.get() is not None:
        _following.set(correlation_id)


@contextmanager
def correlated(correlation_id: str | None = None) -> Iterator[None]:
    """A piece of work with an id of its own; afterwards all is as before.

    Args:
        correlation_id: Its id, where it is known already; otherwise `follow` says it.
    """
    before = _following.set(correlation_id or UNKNOWN)
    try:
        yield
    finally:
        _following.reset(before)
