"""Circuit breakers as values, which are stored so that all workers share them.

A closed breaker passes every call. After several consecutive failures, it opens and refuses calls.
After a pause it is half open: it passes one call as a probe, whose outcome closes or opens it
again.
"""

from datetime import datetime, timedelta
from typing import Literal

from skein.models.common.base import Instant, Value

State = Literal["closed", "open", "half_open"]

MAX_FAILURES = 5  # consecutive failures; the last one opens the breaker
WINDOW = timedelta(minutes=1)  # older failures do not count
PAUSE = timedelta(seconds=30)  # until an open breaker passes a probe


class Breaker(Value):
    """The circuit breaker of one service.

    Attributes:
        failures: While the breaker is closed, the times of the newest failed calls.
        open_until: The time from which the breaker passes a probe; while a probe is in progress,
            the time at which the probe counts as lost. None if the breaker is closed.
        probing: Whether a probe is in progress.
        pauses: The number of consecutive pauses that ended with a failed probe.
    """

    failures: tuple[Instant, ...] = ()
    open_until: Instant | None = None
    probing: bool = False
    pauses: int = 0

    def state(self, now: datetime) -> State:
        """Return the state: `closed` passes calls, `open` refuses, `half_open` passes one probe."""
        if self.open_until is None:
            return "closed"
        return "open" if now < self.open_until else "half_open"

    def probed(self, until: datetime) -> "Breaker":
        """Return the breaker with a probe in progress, which counts as lost at `until`."""
        return self.model_copy(update={"open_until": until, "probing": True})

    def unprobed(self, now: datetime) -> "Breaker":
        """Return the breaker after a probe that made no call, so that the next call is a probe."""
        return self.model_copy(update={"open_until": now, "probing": False})

    def failed(self, now: datetime, *, longest: timedelta = PAUSE) -> "Breaker":
        """Return the breaker after a failed call; each failed probe doubles the pause.

        Args:
            longest: The longest pause.
        """
        if self.open_until is None:
            recent = (*(at for at in self.failures if now - at < WINDOW), now)
            if len(recent) < MAX_FAILURES:
                return Breaker(failures=recent)
            return Breaker(open_until=now + PAUSE)
        if self.state(now) == "open" and not self.probing:
            return self  # the call began before the breaker opened
        pauses = self.pauses + 1
        pause = min(PAUSE * 2 ** min(pauses, 16), longest)
        return Breaker(open_until=now + pause, pauses=pauses)


CLOSED = Breaker()
