"""How the live channel waits, in threads and in asyncio."""

import asyncio
import threading
from contextlib import suppress

from websockets.asyncio.client import ClientConnection as AsyncConnection
from websockets.sync.client import ClientConnection

Signal = threading.Event


class AsyncSignal:
    """An `asyncio.Event` with the methods of a `threading.Event`."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.set, self.is_set = self._event.set, self._event.is_set

    async def wait(self, seconds: float) -> None:
        """Wait until the event is set, for at most `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()


async def async_receive(socket: AsyncConnection, seconds: float) -> str | bytes:
    """Return the next frame.

    Raises:
        TimeoutError: No frame came in time.
        WebSocketException: The connection is closed.
    """
    async with asyncio.timeout(seconds):
        return await socket.recv()


def receive(socket: ClientConnection, seconds: float) -> str | bytes:
    """Return the next frame; see `async_receive`."""
    return socket.recv(timeout=seconds)
