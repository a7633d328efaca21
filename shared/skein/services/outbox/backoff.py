"""Backoff: how long to wait before another attempt, after so many that led to nothing."""

from datetime import timedelta
from typing import NamedTuple, Self


class Backoff(NamedTuple):
    """The waits after the first attempt, the second and so on; the last one repeats."""

    waits: tuple[timedelta, ...]

    @classmethod
    def minutes(cls, *minutes: float) -> Self:
        """Return a backoff with these waits in minutes."""
        return cls(tuple(timedelta(minutes=each) for each in minutes))

    def after(self, earlier: int) -> timedelta:
        """Return the wait after an attempt that had so many before it."""
        return self.waits[min(earlier, len(self.waits) - 1)]

    @property
    def longest(self) -> timedelta:
        """The last wait."""
        return self.waits[-1]
