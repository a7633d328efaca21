"""Work in the background: the fake keeps the promises of the thread."""

import threading
import time
from datetime import UTC, datetime

import pytest

from skein.adapters.background import BackgroundThread
from skein.correlation import correlated, current
from skein.ports import Background
from tests.fakes.background import InlineBackground
from tests.fakes.system import FixedClock


@pytest.fixture(params=["inline", "thread"])
def background(request: pytest.FixtureRequest) -> Background:
    clock = FixedClock(datetime(2026, 2, 18, tzinfo=UTC))
    return InlineBackground(clock) if request.param == "inline" else BackgroundThread()


def test_due_tasks_are_done_in_order(background: Background) -> None:
    done: list[int] = []
    for n in range(20):
        assert background.later(0, lambda n=n: done.append(n))  # type: ignore[misc]
    background.finish(20)
    assert done == list(range(20))


def test_later_task_is_not_waited_for(background: Background) -> None:
    done: list[int] = []
    background.later(600, lambda: done.append(1))
    background.finish(20)
    assert done == []


def test_task_may_add_tasks(background: Background) -> None:
    done: list[int] = []

    def add() -> None:
        background.later(0, lambda: done.append(1))

    background.later(0, add)
    background.finish(20)
    assert done == [1]


def test_task_that_waits_is_done_when_it_is_due() -> None:
    background, done = BackgroundThread(), threading.Event()
    began = time.monotonic()
    background.later(600, lambda: None)
    background.later(0.05, done.set)
    assert done.wait(20)
    assert time.monotonic() - began >= 0.05


def test_error_of_a_task_is_logged_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    background, done = BackgroundThread(), threading.Event()
    background.later(0, fail)
    background.later(0, done.set)
    assert done.wait(20)
    assert "background task failed" in caplog.text


def test_too_many_tasks_are_refused() -> None:
    background, free = BackgroundThread(most=2), threading.Event()

    def wait() -> None:
        free.wait(20)

    background.later(0, wait)
    while background._tasks:  # until the thread has taken the first
        time.sleep(0.001)
    assert background.later(0, lambda: None)
    assert background.later(0, lambda: None)
    assert not background.later(0, lambda: None)
    background.finish(0.05)
    assert len(background._tasks) == 2  # it has not waited for them
    free.set()


def test_task_has_the_callers_correlation_id() -> None:
    background, found = BackgroundThread(), list[str | None]()

    @correlated()
    def add() -> None:
        found.append(current())
        background.later(0, lambda: found.append(current()))

    add()
    background.finish(20)
    assert found[0] == found[1]
