"""Pauses between attempts."""

import random

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0


class Backoff:
    """Pauses that double up to a minute, with jitter, so that clients do not retry together."""

    def __init__(self) -> None:
        self._next = FIRST_SECONDS

    def reset(self) -> None:
        """Begin with the shortest pause again."""
        self._next = FIRST_SECONDS

    def seconds(self) -> float:
        """Return the next pause, in seconds."""
        pause = self._next * random.uniform(0.5, 1.0)
        self._next = min(2 * self._next, LONGEST_SECONDS)
        return pause
