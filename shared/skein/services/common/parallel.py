"""Much of the same at once, by threads, where one after the other would take too long."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")

THREADS = 16  # below the connections that the table's client keeps


class ParallelMap(Protocol):
    """A way to do the same with many things."""

    def __call__(self, work: Callable[[A], B], over: Sequence[A]) -> list[B]:
        """What `work` gives for each, in the order of `over`; begun in that order, too.

        Whatever `work` raises is raised once all of them have ended.
        """
        ...


def map_threads(work: Callable[[A], B], over: Sequence[A]) -> list[B]:
    """See `ParallelMap`; up to 16 of them at the same time."""
    if len(over) <= 1:
        return [work(one) for one in over]
    with ThreadPoolExecutor(min(THREADS, len(over))) as pool:
        doing = [pool.submit(work, one) for one in over]
    return [one.result() for one in doing]
