"""HTTP server of the local stack, with a thread per request."""

import socket
import threading
from collections.abc import Callable, Iterable
from errno import EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EINVAL
from http import HTTPStatus
from http.client import responses
from typing import TYPE_CHECKING, Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from local.config import LOOPBACK, BadConfigError
from local.errors import LocalError, PortInUseError
from local.events import Request, Response, json_response
from local.web.gateway import MAX_BODY_BYTES

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

EVERY_V4, EVERY_V6 = "0.0.0.0", "::"  # noqa: S104 - only if the user sets SKEIN_HOST
POLL_SECONDS = 0.05

Answer = Callable[[Request], Response]


class Server:
    """HTTP server that passes requests to `answer`.

    The server always listens on 127.0.0.1, because the stack calls itself there.

    Args:
        port: TCP port; 0 for any free port.
        answer: Called for each request, in a separate thread.
        host: A further IP address to listen on; `0.0.0.0` or `::` for all addresses.

    Raises:
        PortInUseError: The port is in use, or this user may not bind to it.
        BadConfigError: This machine does not have the address `host`.
    """

    def __init__(self, port: int, answer: Answer, *, host: str = LOOPBACK) -> None:
        self._answer = answer
        self._sockets: list[socket.socket] = []
        try:
            for address in addresses(host):
                self._sockets.append(listener(address, self.port if self._sockets else port))
        except LocalError:
            self._close()
            raise
        self._servers = [
            _Server(
                each.getsockname()[0],
                self.port,
                self._application,
                handler=_Handler,
                fd=each.fileno(),
            )
            for each in self._sockets
        ]
        self._threads = [
            threading.Thread(
                target=each.serve_forever, args=(POLL_SECONDS,), name="server", daemon=True
            )
            for each in self._servers
        ]

    @property
    def port(self) -> int:
        """The TCP port, the same on each address."""
        port: int = self._sockets[0].getsockname()[1]
        return port

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop accepting requests, without waiting for those in progress (idempotent)."""
        for server, thread in zip(self._servers, self._threads, strict=True):
            if thread.is_alive():
                server.shutdown()
                thread.join()
            server.server_close()
        self._close()

    def _close(self) -> None:
        for each in self._sockets:
            each.close()

    def _application(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        response = self._respond(environ)
        headers = list(response.headers)
        if response.status != HTTPStatus.NO_CONTENT:
            headers.append(("content-length", str(len(response.body))))
        start_response(f"{response.status} {responses.get(response.status, '-')}", headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.body]

    def _respond(self, environ: "WSGIEnvironment") -> Response:
        body = _body(environ)
        if body is None:
            return json_response(413, {"message": "Request Entity Too Large"})
        path, _, query = str(environ["REQUEST_URI"]).partition("?")
        return self._answer(
            Request(
                method=environ["REQUEST_METHOD"],
                path=path,
                query=query,
                headers=_headers(environ),
                body=body,
                source_ip=environ["REMOTE_ADDR"],
            )
        )


def addresses(host: str) -> tuple[str, ...]:
    """Return the addresses to listen on: `host` and, unless included, 127.0.0.1."""
    if host in {LOOPBACK, EVERY_V4}:
        return (host,)
    return (EVERY_V4 if host == EVERY_V6 else LOOPBACK, host)


def listener(address: str, port: int, variable: str = "SKEIN_PORT") -> socket.socket:
    """Create a listening socket.

    Werkzeug does not create it, because it would exit the process if it could not bind.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=128)
    except OSError as error:
        if error.errno in {EADDRNOTAVAIL, EAFNOSUPPORT, EINVAL}:
            raise BadConfigError(
                f"SKEIN_HOST is {address!r}, which is not an address of this machine"
            ) from error
        why = "is in use" if error.errno == EADDRINUSE else f"is refused ({error.strerror})"
        raise PortInUseError(f"port {port} {why}: set {variable} to another") from error


def _headers(environ: "WSGIEnvironment") -> dict[str, str]:
    """Return a request's headers by lower-case name, and the headers that API Gateway adds."""
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_") or name in {"CONTENT_TYPE", "CONTENT_LENGTH"}
    }
    client = environ["REMOTE_ADDR"]
    return headers | {
        "x-forwarded-for": client,
        "x-forwarded-port": str(environ.get("SERVER_PORT", "")),
        "x-forwarded-proto": "http",
    }


def _body(environ: "WSGIEnvironment") -> bytes | None:
    """Read a request's body; None if the body is larger than API Gateway accepts."""
    stream: Any = environ["wsgi.input"]
    if environ.get("wsgi.input_terminated"):  # chunked
        body = bytes(stream.read(MAX_BODY_BYTES + 1))
        return None if len(body) > MAX_BODY_BYTES else body
    try:
        length = max(0, int(environ.get("CONTENT_LENGTH") or 0))
    except ValueError:
        length = 0
    if length > MAX_BODY_BYTES:
        return None  # Werkzeug reads and drops the rest, so that the client gets the answer
    return bytes(stream.read(length)) if length else b""


class _Handler(WSGIRequestHandler):
    """Request handler that handles one request per connection and logs nothing."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Discard the library's log lines."""


class _Server(ThreadedWSGIServer):
    """Threaded server whose request threads do not delay the end of the process."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of a connection, such as a client that disconnected."""
