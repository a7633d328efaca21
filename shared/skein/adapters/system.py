"""The system clock, ULIDs and random digits."""

import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from datetime import UTC, datetime
from threading import Thread
from typing import TypeVar

from ulid import ULIDGenerator

from skein.ports import Clock

T = TypeVar("T")


def done_within(seconds: float, function: Callable[[], T]) -> T:
    """Run `function` with a time-out in real seconds; see `skein.ports.Clock`.

    `function` runs in its own daemon thread, which does not keep the process alive. The thread has
    the caller's context variables, so its log lines have the correlation id.
    """
    context, done = copy_context(), Future[T]()

    def do() -> None:
        try:
            done.set_result(context.run(function))
        except BaseException as error:
            done.set_exception(error)

    Thread(target=do, name="within", daemon=True).start()
    return done.result(seconds)


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def within(self, seconds: float, function: Callable[[], T]) -> T:
        return done_within(seconds, function)


class UlidIds:
    """New ULIDs; within one process, even ULIDs of the same millisecond are in order."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # Not the library's shared generator, which would mix the times of several clocks.
        self._generator = ULIDGenerator()

    def ulid(self) -> str:
        return str(self._generator.generate(self._clock.now()))

    def digits(self, length: int) -> str:
        return f"{secrets.randbelow(10**length):0{length}d}"
