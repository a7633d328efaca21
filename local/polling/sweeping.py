"""Base of the pollers: a thread that starts due work until none is left, and then waits."""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

POLL_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Sweeper(ABC):
    """Thread that looks for due work in its sources again and again, and starts the work.

    Each pass through the sources is a sweep: a subclass starts the work in `_sweep`. The lock
    `_changed` guards all attributes, and is notified when one of them changes.

    Args:
        sources: Where the work comes from, in words, for the warning about a failed sweep.
    """

    def __init__(self, *, name: str, sources: str) -> None:
        self._sources = sources
        self._batches = 0
        self._taken: Counter[str] = Counter()
        self._paused = False
        self._changed = threading.Condition()
        self._woken = False
        self._stopping = False
        # The number of the last requested sweep and of the last finished one.
        self._asked = 0
        self._swept = 0
        self._idle = False
        self._usable = True
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Sweep immediately."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    @property
    def batches(self) -> int:
        """The number of batches that were started so far."""
        return self._batches

    def taken(self) -> Counter[str]:
        """Return the number of records that each function was called with so far."""
        with self._changed:
            return Counter(self._taken)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Start no new batch within the block. Batches that already run continue."""
        with self._changed:
            self._paused = True
        try:
            yield
        finally:
            with self._changed:
                self._paused = False
            self.wake()

    def settle(self, *, until: float) -> bool:
        """Wait until no batch is running and no work is due.

        Args:
            until: When to give up, as a time of `time.monotonic`.

        Returns:
            Whether this state was reached in time.
        """
        with self._changed:
            while (left := until - time.monotonic()) > 0 and not self._stopping:
                self._asked += 1
                asked = self._asked
                self.wake()
                self._changed.wait_for(lambda n=asked: self._swept >= n or self._stopping, left)  # type: ignore[misc]
                if self._swept >= asked and self._idle:
                    return True
                if self._busy():
                    self._changed.wait(min(left, POLL_SECONDS))
        return False

    @abstractmethod
    def _sweep(self) -> int:
        """Start or handle due work; return 0 if there was none."""

    def _busy(self) -> bool:
        """Whether work runs in other threads. They notify `_changed` when the work ends."""
        return False

    def _pause(self) -> float:
        """Return the seconds to wait after a sweep that found no work."""
        return POLL_SECONDS

    def _count(self, function: str, records: int) -> None:
        with self._changed:
            self._batches += 1
            self._taken[function] += records

    def _end(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def _loop(self) -> None:
        while not self._stopping:
            with self._changed:
                asked = self._asked
                # A running batch may make work for a source that this sweep has already read.
                busy = self._busy()
                self._woken = False
            found = self._try_sweep()
            with self._changed:
                self._idle = found == 0 and not busy and not self._busy()
                self._swept = asked
                self._changed.notify_all()
                if not found:
                    self._changed.wait_for(lambda: self._woken or self._stopping, self._pause())

    def _try_sweep(self) -> int | None:
        """Sweep; return None if the sources cannot be used.

        Repeated failures are logged only once, until a sweep works again.
        """
        try:
            found = self._sweep()
        except Exception as error:
            if not self._stopping:
                if self._usable:
                    logger.warning("failed to use %s: %s", self._sources, error, exc_info=True)
                time.sleep(POLL_SECONDS)
            self._usable = False
            return None
        self._usable = True
        return found
