"""The time-out of a request holds for each part of the exchange with a slow service."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from socket import create_server, socket
from threading import Event, Thread

import pytest

from skein.adapters.outbound_http import OutboundHttpClient
from skein.errors import Ambiguous, SkeinError, Unavailable
from skein.models.common.http import HttpRequest

SECONDS = 0.2  # the time-out of a request
PAUSE = 0.02  # between two bytes of the service
LATE = 60.0  # seconds after which a service gives up, and the test fails
MANY = 150  # bytes after which a service closes the connection, and the test fails
FULL = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
CHUNKED = FULL + b"transfer-encoding: chunked\r\n\r\n"
TLS_RECORD = b"\x16\x03\x03\x40\x00"  # the header of a record of 16 KB

DRIPS = {
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "another status": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "header": (FULL + b"x: ", b"a"),
    "more headers": (FULL, b"x: a\r\n"),
    "body": (FULL + b"content-length: 100000\r\n\r\n", b"a"),
    "body without a length": (FULL + b"\r\n", b"a"),
    "size of a chunk": (CHUNKED, b"0"),
    "extension of a chunk": (CHUNKED + b"1;", b"a"),
    "chunk": (CHUNKED + b"FFFF\r\n", b"a"),
    "more chunks": (CHUNKED, b"1\r\na\r\n"),
    "trailer": (CHUNKED + b"0\r\n", b"x: a\r\n"),
}


@contextmanager
def dripping(begin: bytes, drip: bytes) -> Iterator[int]:
    """Serve one connection that sends `begin` and then `drip` again and again; yield its port."""
    over = Event()

    def serve(listening: socket) -> None:
        connection, _ = listening.accept()
        with connection:
            try:
                connection.sendall(begin)
                for _ in range(MANY):
                    if over.wait(PAUSE):
                        break
                    connection.sendall(drip)
            except OSError:
                pass  # the client has closed the connection

    with create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        over.set()
        thread.join()


def fails_by_time_out(
    url: str, error: type[SkeinError], client: OutboundHttpClient, body: bytes = b""
) -> None:
    """Send a request that only its time-out ends."""
    request = HttpRequest(method="POST", url=url, headers={}, body=body)
    with pytest.raises(error, match=r"took too long|TimeoutError"):
        client.send(request, seconds=SECONDS)


@pytest.mark.parametrize("place", DRIPS)
def test_answer_that_drips_ends_with_the_time_out(place: str) -> None:
    with dripping(*DRIPS[place]) as port:
        fails_by_time_out(f"http://127.0.0.1:{port}/", Ambiguous, OutboundHttpClient(loopback=True))


def test_slow_tls_handshake_past_the_deadline_raises_unavailable() -> None:
    with dripping(TLS_RECORD, b"\0") as port:
        fails_by_time_out(
            f"https://127.0.0.1:{port}/", Unavailable, OutboundHttpClient(loopback=True)
        )


def test_body_that_is_not_read_ends_with_the_time_out() -> None:
    with dripping(b"", b"") as port:
        url, body = f"http://127.0.0.1:{port}/", b"x" * 20_000_000
        fails_by_time_out(url, Ambiguous, OutboundHttpClient(loopback=True), body)


def test_name_that_is_resolved_too_slowly_has_sent_nothing() -> None:
    over = Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        over.wait(LATE)
        return ["127.0.0.1"]

    client = OutboundHttpClient(loopback=True, resolve=resolve)
    fails_by_time_out("http://shop.example/", Unavailable, client)
    over.set()


def test_redirects_share_the_time_out() -> None:
    again = b"HTTP/1.1 307 Again\r\nlocation: /\r\ncontent-length: 0\r\n\r\n"
    with dripping(again, b"") as port:  # it answers the first connection only
        fails_by_time_out(f"http://127.0.0.1:{port}/", Ambiguous, OutboundHttpClient(loopback=True))


def test_answer_that_ends_early_is_no_answer() -> None:
    with create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(FULL + b"content-length: 10\r\n\r\nhalf")

        Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(Ambiguous):
            OutboundHttpClient(loopback=True).send(
                HttpRequest(method="GET", url=url, headers={}), seconds=5
            )
