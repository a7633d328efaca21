"""Work in the background that is done at once, as far as it is due."""

from collections.abc import Callable
from datetime import datetime, timedelta

from skein.ports import Clock


class InlineBackground:
    """`Background` without a thread: a due task is done in the call that adds it or a later one.

    Attributes:
        full: Whether no further task is accepted.
        hurries: Whether each task is due at once.
    """

    def __init__(self, clock: Clock) -> None:
        self.full = False
        self.hurries = False
        self._clock = clock
        self._tasks: list[tuple[datetime, Callable[[], None]]] = []

    @property
    def waiting(self) -> int:
        """The number of tasks that wait."""
        return len(self._tasks)

    def later(self, seconds: float, task: Callable[[], None]) -> bool:
        """See `skein.ports.Background`."""
        if self.full:
            return False
        delay = timedelta(seconds=0 if self.hurries else seconds)
        self._tasks.append((self._clock.now() + delay, task))
        self.finish(0)
        return True

    def finish(self, seconds: float) -> None:
        """See `skein.ports.Background`; no task takes any time, so there is nothing to wait for."""
        while due := [each for each in self._tasks if each[0] <= self._clock.now()]:
            first = min(due, key=lambda each: each[0])
            self._tasks.remove(first)
            first[1]()
