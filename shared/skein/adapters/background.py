"""A background thread for tasks that no caller waits for."""

import logging
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from heapq import heappop, heappush
from itertools import count
from threading import Condition, Thread

MAX_WAITING = 100

logger = logging.getLogger(__name__)


class BackgroundThread:
    """`Background` on one daemon thread, which starts with the first task.

    Args:
        most: The maximum number of waiting tasks.
    """

    def __init__(self, most: int = MAX_WAITING) -> None:
        self._most = most
        self._tasks: list[tuple[float, int, Context, Callable[[], None]]] = []
        self._numbers = count()
        self._changed = Condition()
        self._working = False
        self._thread: Thread | None = None

    def later(self, seconds: float, task: Callable[[], None]) -> bool:
        """See `skein.ports.Background`; the task has the caller's context variables."""
        due = time.monotonic() + seconds
        with self._changed:
            if len(self._tasks) >= self._most:
                return False
            heappush(self._tasks, (due, next(self._numbers), copy_context(), task))
            if self._thread is None:
                self._thread = Thread(target=self._serve, name="background", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return True

    def finish(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._working and self._pause() != 0, seconds)

    def _pause(self) -> float | None:
        """Return the seconds until the next task is due; None if there is no task."""
        return max(self._tasks[0][0] - time.monotonic(), 0) if self._tasks else None

    def _serve(self) -> None:
        while True:
            with self._changed:
                while (pause := self._pause()) != 0:
                    self._changed.wait(pause)
                _, _, context, task = heappop(self._tasks)
                self._working = True
            try:
                context.run(task)
            except Exception:
                logger.exception("background task failed")
            with self._changed:
                self._working = False
                self._changed.notify_all()
