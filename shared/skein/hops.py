"""Hops of jobs: how many jobs led to the one that is being handled.

A job that is sent while another job is handled has one hop more than that job. All other jobs have
0 hops. So Skein can detect a loop of jobs, and the dispatch can stop it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_handled: ContextVar[int | None] = ContextVar("hops", default=None)


@contextmanager
def handling(hops: int) -> Iterator[None]:
    """Handle a job that has `hops` hops: jobs that the block sends get one more."""
    before = _handled.set(hops)
    try:
        yield
    finally:
        _handled.reset(before)


def next_hops() -> int:
    """Return the hops of a job that is sent now; 0 outside of a job."""
    hops = _handled.get()
    return 0 if hops is None else hops + 1
