"""HTTP server of the local stack, on loopback only, with a thread per request."""

import socket
import threading
from collections.abc import Callable, Iterable
from errno import EADDRINUSE
from http import HTTPStatus
from http.client import responses
from typing import TYPE_CHECKING, Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from local.errors import PortInUseError
from local.events import Request, Response, json_response
from local.gateway import MAX_BODY_BYTES

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

HOST = "127.0.0.1"
POLL_SECONDS = 0.05

Answer = Callable[[Request], Response]


class Server:
    """HTTP server that passes requests to `answer`.

    Args:
        port: TCP port; 0 for any free port.
        answer: Called for each request, in a separate thread.

    Raises:
        PortInUseError: The port is in use, or this user may not bind to it.
    """

    def __init__(self, port: int, answer: Answer) -> None:
        self._answer = answer
        try:
            # Create the socket here, because Werkzeug exits the process if it cannot bind.
            self._socket = socket.create_server((HOST, port), backlog=128)
        except OSError as error:
            why = "is in use" if error.errno == EADDRINUSE else f"is refused ({error.strerror})"
            raise PortInUseError(f"port {port} {why}: set SKEIN_PORT to another") from error
        self.port: int = self._socket.getsockname()[1]
        self._server = _Server(
            HOST, self.port, self._application, handler=_Handler, fd=self._socket.fileno()
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_SECONDS,), name="server", daemon=True
        )

    def start(self) -> None:
        """Start serving requests."""
        self._thread.start()

    def stop(self) -> None:
        """Stop accepting requests, without waiting for those in progress."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self._socket.close()

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
                source_ip=environ.get("REMOTE_ADDR", HOST),
            )
        )


def _headers(environ: "WSGIEnvironment") -> dict[str, str]:
    """Return a request's headers by lower-case name, with those that API Gateway adds."""
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_") or name in {"CONTENT_TYPE", "CONTENT_LENGTH"}
    }
    client = environ.get("REMOTE_ADDR", HOST)
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
