"""Parallel maps over threads."""

import threading

from skein.adapters.parallel import map_threads
from skein.correlation import correlated, current


def test_map_threads_calls_have_the_callers_context() -> None:
    apart = threading.Barrier(2, timeout=10)

    def work(_: int) -> str | None:
        apart.wait()
        return current()

    with correlated("req-1"):
        assert map_threads(work, [1, 2]) == ["req-1", "req-1"]
