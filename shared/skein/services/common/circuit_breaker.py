"""A circuit breaker: what has failed too often just now is left alone, until one call tries it.

Closed, every call goes through. After so many failures within a window it opens, and refuses calls
at once. A while later it is half open: one call may try, and its outcome closes or opens it again.
The state is one container's own.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from skein.errors import Ambiguous, CircuitOpen, SkeinError, Throttled, Unavailable
from skein.models.storage import IndexName, Item, Key, Page, Write
from skein.ports import Clock, Metrics, Table
from skein.settings import Settings

State = Literal["closed", "open", "half_open"]
T = TypeVar("T")

FAILURES = (Unavailable, Ambiguous, Throttled)
PROBE_SECONDS = 120  # the longest life of a function: a call that has not come back by then is lost

logger = logging.getLogger(__name__)


class CircuitBreaker:
    """Stands before one dependency.

    Args:
        dependency: Its name, for operators.
        clock: The time.
        metrics: Counts how often it opens.
        settings: How many failures, within which time, open it for how long.
        slow_seconds: A call that takes longer counts as a failure, though its result is used; None
            where slowness is no fault.
    """

    def __init__(
        self,
        dependency: str,
        *,
        clock: Clock,
        metrics: Metrics,
        settings: Settings,
        slow_seconds: float | None = None,
    ) -> None:
        self._dependency = dependency
        self._clock = clock
        self._metrics = metrics
        self._most = settings.breaker_failures
        self._window = timedelta(seconds=settings.breaker_window_seconds)
        self._pause = timedelta(seconds=settings.breaker_open_seconds)
        self._slow = None if slow_seconds is None else timedelta(seconds=slow_seconds)
        self._lock = threading.Lock()
        self._failures: deque[datetime] = deque()
        self._opened_at: datetime | None = None
        self._probed_at: datetime | None = None

    @property
    def state(self) -> State:
        """What would become of a call now: let through, refused, or taken as the one that tries."""
        with self._lock:
            return self._state(self._clock.now())

    def call(self, work: Callable[[], T]) -> T:
        """Do `work`, unless the dependency is left alone just now.

        What it raises goes through. `Unavailable`, `Ambiguous` and `Throttled` are failures; any
        other error of ours is an answer; what is no error of ours says nothing of the dependency.

        Raises:
            CircuitOpen: Nothing was done.
        """
        began = self._clock.now()
        probes = self._enter(began)
        try:
            result = work()
        except FAILURES:
            self._fail(probes=probes)
            raise
        except SkeinError:
            self._succeed(probes=probes)
            raise
        except BaseException:
            self._forget(probes=probes)
            raise
        if self._slow is not None and self._clock.now() - began > self._slow:
            self._fail(probes=probes)
        else:
            self._succeed(probes=probes)
        return result

    def _state(self, now: datetime) -> State:
        if self._opened_at is None:
            return "closed"
        if now < self._opened_at + self._pause:
            return "open"
        lost = timedelta(seconds=PROBE_SECONDS)
        probing = self._probed_at is not None and now < self._probed_at + lost
        return "open" if probing else "half_open"

    def _enter(self, now: datetime) -> bool:
        """Let a call begin; whether it is the one that tries."""
        with self._lock:
            state = self._state(now)
            if state == "open":
                raise CircuitOpen(self._dependency)
            if state == "half_open":
                self._probed_at = now
            return state == "half_open"

    def _fail(self, *, probes: bool) -> None:
        now = self._clock.now()
        with self._lock:
            if probes:
                self._opened_at, self._probed_at = now, None
                return
            if self._opened_at is not None:
                return  # a call that began before it opened; that is known by now
            self._failures.append(now)
            while self._failures[0] <= now - self._window:
                self._failures.popleft()
            if len(self._failures) < self._most:
                return
            self._failures.clear()
            self._opened_at = now
        logger.error("a circuit opened", extra={"dependency": self._dependency})
        self._metrics.count("CircuitsOpened")

    def _succeed(self, *, probes: bool) -> None:
        if not probes:
            return
        with self._lock:
            self._opened_at, self._probed_at = None, None
        logger.info("a circuit closed", extra={"dependency": self._dependency})

    def _forget(self, *, probes: bool) -> None:
        """A call that tried has learnt nothing; the next one may."""
        if probes:
            with self._lock:
                self._probed_at = None


@dataclass(frozen=True, slots=True)
class GuardedReads:
    """A table whose reads stand behind a breaker; its writes do not."""

    table: Table
    breaker: CircuitBreaker

    def get(self, key: Key) -> Item | None:
        """See `skein.ports.Table`."""
        return self.breaker.call(lambda: self.table.get(key))

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `skein.ports.Table`."""
        return self.breaker.call(lambda: self.table.get_many(keys))

    def query(
        self,
        pk: str,
        *,
        first: str = "",
        last: str = "\U0010ffff",
        limit: int | None = None,
        newest_first: bool = False,
        start: Item | None = None,
    ) -> Page:
        """See `skein.ports.Table`."""
        return self.breaker.call(
            lambda: self.table.query(
                pk, first=first, last=last, limit=limit, newest_first=newest_first, start=start
            )
        )

    def query_index(
        self,
        index: IndexName,
        pk: str,
        *,
        first: str = "",
        last: str = "\U0010ffff",
        limit: int,
        newest_first: bool = False,
        start: Item | None = None,
    ) -> Page:
        """See `skein.ports.Table`."""
        return self.breaker.call(
            lambda: self.table.query_index(
                index,
                pk,
                first=first,
                last=last,
                limit=limit,
                newest_first=newest_first,
                start=start,
            )
        )

    def write(self, write: Write) -> None:
        """See `skein.ports.Table`."""
        self.table.write(write)

    def transact(self, writes: Sequence[Write]) -> None:
        """See `skein.ports.Table`."""
        self.table.transact(writes)
