"""Stop calls to a dependency after too many recent failures (circuit breaker).

A closed breaker passes every call. After a number of failures within a window, the breaker opens
and refuses calls at once. After a pause, the breaker is half open: it passes one call as a probe.
If the probe succeeds, the breaker closes; otherwise, it opens again. Each container has its own
state.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from skein.errors import Ambiguous, CircuitOpen, SkeinError, Throttled, Unavailable
from skein.ports import Clock, Metrics

State = Literal["closed", "open", "half_open"]
T = TypeVar("T")

FAILURES = (Unavailable, Ambiguous, Throttled)
MAX_FAILURES = 5  # this many failures within the window open the breaker
WINDOW = timedelta(seconds=30)
PAUSE = timedelta(seconds=30)  # how long an open breaker refuses calls before it passes a probe
PROBE_SECONDS = 120  # the longest time-out of a function; later, a probe counts as lost

logger = logging.getLogger(__name__)


class CircuitBreaker:
    """Circuit breaker for one dependency.

    Args:
        dependency: The name of the dependency, for logs and errors.
        slow_seconds: A call that takes longer counts as a failure, but its result is returned. If
            None, the duration of a call does not matter.
    """

    def __init__(
        self,
        dependency: str,
        *,
        clock: Clock,
        metrics: Metrics,
        slow_seconds: float | None = None,
    ) -> None:
        self._dependency = dependency
        self._clock = clock
        self._metrics = metrics
        self._slow = None if slow_seconds is None else timedelta(seconds=slow_seconds)
        self._lock = threading.Lock()
        self._failures: deque[datetime] = deque()
        self._opened_at: datetime | None = None
        self._probed_at: datetime | None = None

    @property
    def state(self) -> State:
        """The state: `closed` passes calls, `open` refuses them, `half_open` passes one probe."""
        with self._lock:
            return self._state(self._clock.now())

    def call(self, function: Callable[[], T]) -> T:
        """Call `function`, unless the breaker is open.

        Exceptions of `function` propagate. `Unavailable`, `Ambiguous` and `Throttled` count as
        failures. Any other `SkeinError` counts as a success, because the dependency has answered.
        Other exceptions do not count.

        Raises:
            CircuitOpen: The breaker is open; `function` was not called.
        """
        began = self._clock.now()
        probes = self._enter(began)
        try:
            result = function()
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
        if now < self._opened_at + PAUSE:
            return "open"
        lost = timedelta(seconds=PROBE_SECONDS)
        probing = self._probed_at is not None and now < self._probed_at + lost
        return "open" if probing else "half_open"

    def _enter(self, now: datetime) -> bool:
        """Admit a call, unless the breaker is open; return whether this call is the probe."""
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
                return  # the call began before the breaker opened, so its failure does not count
            self._failures.append(now)
            while self._failures[0] <= now - WINDOW:
                self._failures.popleft()
            if len(self._failures) < MAX_FAILURES:
                return
            self._failures.clear()
            self._opened_at = now
        logger.error("circuit breaker opened", extra={"dependency": self._dependency})
        self._metrics.count("CircuitsOpened")

    def _succeed(self, *, probes: bool) -> None:
        if not probes:
            return
        with self._lock:
            self._opened_at, self._probed_at = None, None
        logger.info("circuit breaker closed", extra={"dependency": self._dependency})

    def _forget(self, *, probes: bool) -> None:
        """Release a probe that neither succeeded nor failed, so that the next call can probe."""
        if probes:
            with self._lock:
                self._probed_at = None
