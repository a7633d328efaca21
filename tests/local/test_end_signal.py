"""A signal ends a process, at whatever point of its wait the signal arrives."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from local.end_signal import EndSignal


@pytest.fixture
def restored() -> Iterator[None]:
    """Restore the handler of SIGUSR1 and the tracing of the interpreter."""
    handler, trace = signal.getsignal(signal.SIGUSR1), sys.gettrace()
    yield
    sys.settrace(trace)
    signal.signal(signal.SIGUSR1, handler)


@pytest.mark.usefixtures("restored")
@pytest.mark.timeout(10)
@pytest.mark.parametrize("point", range(8))
def test_signal_at_each_line_of_the_wait_ends_it(
    point: int, request: pytest.FixtureRequest
) -> None:
    end = EndSignal([signal.SIGUSR1])
    request.addfinalizer(end.close)
    passed = 0

    def interrupt(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal passed
        if passed == point:
            signal.raise_signal(signal.SIGUSR1)
        passed += 1
        return interrupt

    # Ends the wait if it has fewer lines than `point`.
    late = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    late.start()
    sys.settrace(interrupt)
    received = end.wait()
    sys.settrace(None)
    late.join()
    assert received == signal.SIGUSR1
    assert passed > 0


@pytest.mark.usefixtures("restored")
@pytest.mark.timeout(10)
def test_signal_before_the_wait_ends_it_without_a_handler(request: pytest.FixtureRequest) -> None:
    """A handler that runs too late must not matter: here, none runs before the wait."""
    end = EndSignal([signal.SIGUSR1])
    request.addfinalizer(end.close)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.raise_signal(signal.SIGUSR1)
    assert end.wait() == signal.SIGUSR1
