"""Parallel map over threads, for many calls that wait for the network."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

THREADS = 16  # fewer than the connections in the pool of the table's client


def map_threads(function: Callable[[A], B], over: Sequence[A]) -> list[B]:
    """Map with at most 16 threads at the same time; see `skein.ports.ParallelMap`.

    Each call has the caller's context variables, so its log lines name the running function.
    """
    if len(over) <= 1:
        return [function(one) for one in over]
    with ThreadPoolExecutor(min(THREADS, len(over))) as pool:
        doing = [pool.submit(copy_context().run, function, one) for one in over]
    return [one.result() for one in doing]
