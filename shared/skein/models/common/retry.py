"""When failed work is retried, and when to give up."""

import sys
from dataclasses import dataclass
from datetime import timedelta
from random import uniform
from typing import Protocol


class RetryState(Protocol):
    """What tenacity passes after a failed try.

    Attributes:
        attempt_number: The number of failed tries, at least 1.
    """

    attempt_number: int


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry policy like Temporal's `RetryPolicy`; without limits, work is retried forever.

    Attributes:
        waits: The waits after the first, second and further tries; the last wait is repeated.
        max_tries: The maximum number of tries.
        give_up: For how long the work is retried.
    """

    waits: tuple[timedelta, ...]
    max_tries: int = sys.maxsize
    give_up: timedelta = timedelta.max

    def wait(self, tries: int) -> timedelta:
        """Return the wait after a failed try.

        Args:
            tries: The number of failed tries, at least 1.
        """
        return self.waits[min(tries, len(self.waits)) - 1]

    def random_wait(self, tries: int) -> float:
        """Return a random part of the wait in seconds, so that competing callers spread out.

        Args:
            tries: The number of failed tries, at least 1.
        """
        return uniform(0, self.wait(tries).total_seconds())

    def stop(self, state: RetryState) -> bool:
        """Return whether to give up; tenacity calls this after a failed try."""
        return self.is_over(tries=state.attempt_number)

    def pause(self, state: RetryState) -> float:
        """Return the random wait in seconds; tenacity calls this after a failed try."""
        return self.random_wait(state.attempt_number)

    def is_over(self, *, tries: int = 0, waited: timedelta = timedelta()) -> bool:
        """Return whether to give up.

        Args:
            tries: The number of failed tries.
            waited: For how long the work has been retried.
        """
        return tries >= self.max_tries or waited >= self.give_up


def minutes(*waits: int) -> tuple[timedelta, ...]:
    """Return waits that are given in minutes."""
    return tuple(timedelta(minutes=wait) for wait in waits)


def doubling(first: timedelta, times: int) -> tuple[timedelta, ...]:
    """Return waits, each twice as long as the one before.

    Args:
        first: The first wait.
        times: How often the wait doubles.
    """
    return tuple(first * 2**each for each in range(times + 1))
