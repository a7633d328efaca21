"""Wait for the signal that ends a process."""

import queue
import signal
from collections.abc import Iterable


class EndSignal:
    """Signals that end this process; create it in the main thread.

    The handler runs in the main thread, also in the middle of `wait`. `SimpleQueue` is made for
    that. `threading.Event` is not: its `set` would wait for a lock that its interrupted `wait`
    holds.

    Args:
        numbers: The numbers of the signals.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._received: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in numbers:
            signal.signal(number, lambda received, _: self._received.put(received))

    def wait(self) -> int:
        """Return the number of the first signal that was received since the last call."""
        return self._received.get()
