"""Wait for the signal that ends a process."""

import signal
import socket
from collections.abc import Iterable


class EndSignal:
    """Signals that end this process. Create this object in the main thread.

    Python writes the number of each received signal to a socket, and `wait` reads from this socket.
    So a signal that arrives just before `wait` blocks is not missed. If `wait` waited for a lock
    that a signal handler releases, such a signal would be missed: Python runs handlers only in the
    main thread, and this thread would be blocked.

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
        """Stop listening. The signals' handlers stay installed."""
        signal.set_wakeup_fd(-1)
        self._receiver.close()
        self._sender.close()


def _keep(_number: int, _frame: object) -> None:
    """Do nothing. A signal that has a handler does not end the process.

    Python also writes the number of the signal to the socket that `EndSignal.wait` reads.
    """
