"""WebSocket server of the live channel, in place of API Gateway.

One thread serves all connections. The functions of the template's WebSocket API run in other
threads, and are called with events in the form of API Gateway's.
"""

import asyncio
import contextlib
import logging
import socket
import threading
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request as Handshake
from websockets.http11 import Response as HandshakeResponse

from local.config import LOOPBACK
from local.events import CONNECT, DEFAULT, DISCONNECT, Event, socket_event
from local.functions import Invoker
from local.template import Function
from local.web.server import addresses, listener
from skein.errors import ConnectionGone

STAGE = "live"
VARIABLE = "SKEIN_LIVE_PORT"
MAX_FRAME_BYTES = 128 * 1024  # API Gateway's limit of a message
MAX_WAITING = 256  # frames that a slow reader may leave unread
IDLE_SECONDS = 600  # API Gateway closes a connection that is silent for 10 minutes
THREADS = 8
CLOSE_SECONDS = 1.0  # to wait for the other side's end of a connection
STOP_SECONDS = 3.0
NORMAL = 1000  # a close code of RFC 6455

logger = logging.getLogger(__name__)


class LiveServer:
    """WebSocket server that implements the port `Sockets` with its connections.

    Args:
        port: TCP port; 0 for any free port.
        host: A further IP address to listen on, as for `local.web.server.Server`.

    Raises:
        PortInUseError: The port is in use, or this user may not bind to it.
        BadConfigError: This machine does not have the address `host`.
    """

    def __init__(self, port: int, *, host: str = LOOPBACK) -> None:
        self._listeners: list[socket.socket] = []
        for address in addresses(host):
            self._listeners.append(
                listener(address, self.port if self._listeners else port, VARIABLE)
            )
        self._routes: Mapping[str, Function] = {}
        self._functions: Invoker | None = None
        self._open: dict[str, _Outgoing] = {}
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="live")
        self._servers: list[Server] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False

    @property
    def port(self) -> int:
        """The TCP port, the same on each address."""
        port: int = self._listeners[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The URL to which clients on this machine connect."""
        return f"ws://{LOOPBACK}:{self.port}/{STAGE}"

    def start(self, routes: Mapping[str, Function], functions: Invoker) -> None:
        """Start to accept connections.

        Args:
            routes: The functions of the WebSocket API by route key.
        """
        self._routes, self._functions = routes, functions
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, args=(self._loop,), name="live-server", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close all connections and stop (idempotent)."""
        self._stopping = True
        if self._loop is not None and self._thread is not None and self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close(), self._loop)
            self._thread.join(STOP_SECONDS)
        self._pool.shutdown(wait=False, cancel_futures=True)
        for each in self._listeners:
            each.close()

    def push(self, connection_id: str, text: str) -> None:
        """See `skein.ports.Sockets`. A connection with 256 waiting frames is closed."""
        if not self._put(connection_id, text):
            raise ConnectionGone("the connection is closed")

    def close(self, connection_id: str) -> None:
        self._put(connection_id, None)

    def _put(self, connection_id: str, text: str | None) -> bool:
        """Pass a frame to a connection, or close the connection (None).

        Returns whether the connection is open.
        """
        outgoing, loop = self._open.get(connection_id), self._loop
        if outgoing is None or outgoing.too_slow or loop is None:
            return False
        try:
            loop.call_soon_threadsafe(outgoing.put, text)
        except RuntimeError:  # the server has stopped
            return False
        return True

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        with contextlib.closing(loop):
            loop.run_until_complete(self._listen())
            loop.run_forever()

    async def _listen(self) -> None:
        for each in self._listeners:
            self._servers.append(
                await serve(
                    self._serve,
                    sock=each,
                    process_request=self._connect,
                    max_size=MAX_FRAME_BYTES,
                    close_timeout=CLOSE_SECONDS,
                    ping_interval=None,  # API Gateway sends no pings either
                )
            )

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for server in self._servers:
            await server.wait_closed()
        asyncio.get_running_loop().stop()

    async def _connect(
        self, connection: ServerConnection, request: Handshake
    ) -> HandshakeResponse | None:
        """Call the function of `$connect`; return a response if it refuses the handshake."""
        target = urlsplit(request.path)
        if target.path.strip("/") != STAGE:
            return connection.respond(HTTPStatus.NOT_FOUND, "")
        connection_id = uuid.uuid4().hex
        headers = dict(request.headers.raw_items())
        event = socket_event(CONNECT, connection_id, now=datetime.now(UTC), headers=headers)
        if query := dict(parse_qsl(target.query)):
            event["queryStringParameters"] = query
        try:
            result = await self._invoke(CONNECT, event)
        except Exception:
            logger.exception("%s failed", self._routes[CONNECT].logical_id)
            return connection.respond(HTTPStatus.INTERNAL_SERVER_ERROR, "")
        status = HTTPStatus(int(result["statusCode"]))
        if status != HTTPStatus.OK:
            return connection.respond(status, str(result.get("body") or ""))
        self._open[connection_id] = _Outgoing(connection)
        connection.username = connection_id
        return None

    async def _serve(self, connection: ServerConnection) -> None:
        """Serve one connection until either side closes it."""
        connection_id = str(connection.username)
        outgoing = self._open[connection_id]
        writer = asyncio.create_task(outgoing.write())
        try:
            await self._read(connection, connection_id)
        finally:
            del self._open[connection_id]
            writer.cancel()
            event = socket_event(DISCONNECT, connection_id, now=datetime.now(UTC))
            await self._invoke_or_log(DISCONNECT, event)

    async def _read(self, connection: ServerConnection, connection_id: str) -> None:
        with contextlib.suppress(ConnectionClosed, TimeoutError):
            while True:
                async with asyncio.timeout(IDLE_SECONDS):
                    frame = await connection.recv()
                text = frame if isinstance(frame, str) else frame.decode(errors="replace")
                event = socket_event(DEFAULT, connection_id, now=datetime.now(UTC))
                event["body"] = text
                await self._invoke_or_log(DEFAULT, event)

    async def _invoke_or_log(self, route_key: str, event: Event) -> None:
        """Call the function of a route, and log if it fails.

        API Gateway does not report such failures to clients, either.
        """
        try:
            await self._invoke(route_key, event)
        except Exception:
            if not self._stopping:
                logger.exception("%s failed", self._routes[route_key].logical_id)

    async def _invoke(self, route_key: str, event: Event) -> Any:
        functions = self._functions
        if functions is None:
            raise RuntimeError("the server was not started")
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, functions.invoke, self._routes[route_key], event
        )


class _Outgoing:
    """The frames that wait for one reader. Only the server's thread changes them.

    Attributes:
        too_slow: Whether the connection is being closed because its reader is too slow.
    """

    def __init__(self, connection: ServerConnection) -> None:
        self.too_slow = False
        self._connection = connection
        self._frames: asyncio.Queue[str | None] = asyncio.Queue(MAX_WAITING)

    def put(self, frame: str | None) -> None:
        """Add a frame, or None to end the connection."""
        try:
            self._frames.put_nowait(frame)
        except asyncio.QueueFull:
            if not self.too_slow:
                self.too_slow = True
                self._connection.transport.abort()

    async def write(self) -> None:
        """Send the frames as fast as the reader takes them."""
        with contextlib.suppress(ConnectionClosed):
            while (frame := await self._frames.get()) is not None:
                await self._connection.send(frame)
            await self._connection.close(NORMAL)
