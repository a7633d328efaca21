"""Time and ids of the real world."""

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


def done_within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` gives within so many seconds of real time; see `skein.ports.Clock`.

    It is done in a thread of its own, which knows what is being followed through the logs, and
    which keeps no process from ending.
    """
    context, done = copy_context(), Future[T]()

    def do() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:
            done.set_exception(error)

    Thread(target=do, name="within", daemon=True).start()
    return done.result(seconds)


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """See `skein.ports.Clock`."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """See `skein.ports.Clock`."""
        time.sleep(seconds)

    def within(self, seconds: float, work: Callable[[], T]) -> T:
        """See `skein.ports.Clock`."""
        return done_within(seconds, work)


class UlidIds:
    """Fresh ULIDs; within one process, those of the same millisecond are in order, too.

    Args:
        clock: Where their time comes from.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # A generator of its own, since the library's shared one would mix in other clocks.
        self._generator = ULIDGenerator()

    def ulid(self) -> str:
        """See `skein.ports.Ids`."""
        return str(self._generator.generate(self._clock.now()))
