"""Wait for the signal that ends a process."""

import signal
import socket
from collections.abc import Iterable


class EndSignal:
    """Signals that end this process; create it in the main thread.

    Python writes the number of each signal to a socket, from which `wait` reads. A signal is
    therefore found also if it arrives in the moment before `wait` blocks. A lock has no such
    guarantee: Python runs a handler only after the main thread has woken up, and nothing wakes it.

    Args:
        numbers: The numbers of the signals.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = frozenset(numbers)
        self._receiver, self._sender = socket.socketpair()
        self._sender.settimeout(0)
        signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        for number in self._numbers:
            signal.signal(number, _keep)

    def wait(self) -> int:
        """Return the number of the first signal that was received since the last call."""
        while (received := self._receiver.recv(1)[0]) not in self._numbers:
            pass  # another signal with a handler
        return received

    def close(self) -> None:
        """Stop listening; the signals' handlers stay."""
        signal.set_wakeup_fd(-1)
        self._receiver.close()
        self._sender.close()


def _keep(_number: int, _frame: object) -> None:
    """Keep the process alive. Python writes the signal's number to the socket."""
