"""Clock of the local stack: real time plus an offset, which users can increase or reset."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from local.files import read_whole, write_whole
from skein.adapters.system import done_within

T = TypeVar("T")


class TurnableClock:
    """Clock (see `skein.ports.Clock`) that can be moved forward, or reset to real time.

    The offset is kept in a file, so that stored timestamps stay in the past after a restart.

    Args:
        path: The file with the offset. Without a file, the clock shows real time after a restart.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._ahead = read_whole(path, _ahead) if path and path.exists() else timedelta(0)

    @property
    def ahead(self) -> timedelta:
        """The clock's offset from real time."""
        with self._lock:
            return self._ahead

    def now(self) -> datetime:
        """Return the current local time in UTC."""
        return datetime.now(UTC) + self.ahead

    def sleep(self, seconds: float) -> None:
        """Wait in real time, before a retry."""
        time.sleep(seconds)

    def within(self, seconds: float, function: Callable[[], T]) -> T:
        """Wait for `function` for at most `seconds` of real time, whatever the clock's offset."""
        return done_within(seconds, function)

    def turn(self, by: timedelta) -> None:
        """Move the clock forward.

        Raises:
            ValueError: `by` is negative.
        """
        if by < timedelta(0):
            raise ValueError("the clock can only be advanced")
        with self._lock:
            self._store(self._ahead + by)

    def reset(self) -> timedelta:
        """Set the clock to real time; return the offset that the clock had.

        Times that were stored before the reset may then lie in the future (see
        `local.timing.reset`).
        """
        with self._lock:
            before = self._ahead
            self._store(timedelta(0))
        return before

    def _store(self, ahead: timedelta) -> None:
        if self._path is not None:
            write_whole(self._path, repr(ahead.total_seconds()).encode())
        self._ahead = ahead


def _ahead(data: bytes) -> timedelta:
    ahead = timedelta(seconds=float(data))
    datetime.now(UTC) + ahead  # must be a valid time
    return ahead
