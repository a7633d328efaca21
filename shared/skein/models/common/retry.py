"""When failed work is tried again, and when it is given up."""

import sys
from dataclasses import dataclass
from datetime import timedelta
from random import uniform


@dataclass(frozen=True, slots=True)
class Retry:
    """A policy for retries, as Temporal's `RetryPolicy`; without limits, the work never ends.

    Attributes:
        waits: The waits after the first try, the second and so on; the last one repeats.
        max_tries: How many tries there are.
        give_up: For how long the work is tried.
    """

    waits: tuple[timedelta, ...]
    max_tries: int = sys.maxsize
    give_up: timedelta = timedelta.max

    def wait(self, tries: int) -> timedelta:
        """Return the wait after a failed try.

        Args:
            tries: How many tries have failed, at least 1.
        """
        return self.waits[min(tries, len(self.waits)) - 1]

    def random_wait(self, tries: int) -> float:
        """Return a random part of the wait in seconds, so that competing callers spread out.

        Args:
            tries: How many tries have failed, at least 1.
        """
        return uniform(0, self.wait(tries).total_seconds())

    def is_over(self, *, tries: int = 0, waited: timedelta = timedelta()) -> bool:
        """Tell whether to give up.

        Args:
            tries: How many tries have failed.
            waited: For how long the work was tried.
        """
        return tries >= self.max_tries or waited >= self.give_up


def minutes(*waits: int) -> tuple[timedelta, ...]:
    """Return waits in minutes."""
    return tuple(timedelta(minutes=wait) for wait in waits)


def doubling(first: timedelta, times: int) -> tuple[timedelta, ...]:
    """Return waits, each twice as long as the one before.

    Args:
        first: The first wait.
        times: How often it doubles.
    """
    return tuple(first * 2**each for each in range(times + 1))
