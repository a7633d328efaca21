"""Send requests to services that operators name, with limits, and never to private addresses.

A host is resolved once, each of its addresses is checked, and the connection goes to an address
that was checked. So a name that resolves to another address later does no harm (DNS rebinding).
The HTTP library of the model's client can't be used, because it resolves names itself.

The time-out of a socket applies to each read of a few bytes, so a slow service could make a request
last for hours. Therefore, a timer ends the connection when the time of the whole request is over.
"""

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Timer
from time import monotonic
from urllib.parse import SplitResult, urljoin, urlsplit

from skein.adapters.system import done_within
from skein.errors import Ambiguous, AnswerTooLong, Failed, Redirected, Unavailable
from skein.models.common.http import HttpAnswer, HttpRequest

CONNECT_SECONDS = 5.0
MAX_REDIRECTS = 3
TOO_LONG = "it took too long"
MAX_BYTES = 1_000_000
CHUNK = 64 * 1024
KEEP_METHOD = frozenset({307, 308})
FOLLOWED = frozenset({301, 302, 303, 307, 308})
# Addresses that are never public. `ipaddress` differs between versions of Python.
SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # relays of 6to4
            "224.0.0.0/4",  # multicast
            *("::/3", "4000::/2", "8000::/1"),  # everything that is not global unicast, e.g. NAT64
            "2001::/23",  # protocol assignments, e.g. Teredo
            "2002::/16",  # 6to4
            "3fff::/20",  # documentation
        ),
    )
)
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_public(address: IpAddress) -> bool:
    """Return whether an address is public and is not translated to another address."""
    return address.is_global and not any(address in network for network in SPECIAL)


def resolve(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundHttpClient:
    """`OutboundHttp` by the standard library.

    Attributes:
        loopback: Whether plain http to this machine is allowed, as on the local stack.
        max_bytes: The maximum length of an answer, in bytes.
        hosts: The hosts that may be called; empty for all.
        resolve: Returns the addresses of a host.
    """

    loopback: bool = False
    max_bytes: int = MAX_BYTES
    hosts: Sequence[str] = ()
    resolve: Callable[[str, int], Sequence[str]] = resolve

    def send(self, request: HttpRequest, *, seconds: float) -> HttpAnswer:
        until = monotonic() + seconds
        first = urlsplit(request.url).netloc
        answer, location = self.exchange(request, until)
        for _ in range(MAX_REDIRECTS):
            if location is None:
                return answer
            url = urljoin(request.url, location)
            if urlsplit(url).netloc != first or urlsplit(url).scheme not in {"https", "http"}:
                raise Redirected("the service redirects to another host")
            if answer.status not in KEEP_METHOD and request.method != "GET":
                raise Redirected("the service redirects a request that is no GET")
            request = request.model_copy(update={"url": url})
            try:
                answer, location = self.exchange(request, until)
            except (Failed, Unavailable) as error:
                raise Redirected(f"its redirect cannot be followed: {error}") from None
        if location is None:
            return answer
        raise Redirected("the service redirects too often")

    def exchange(self, request: HttpRequest, until: float) -> tuple[HttpAnswer, str | None]:
        """Send one request; return the answer and the URL that it redirects to, if any.

        Args:
            until: The end of the time-out, by `time.monotonic`.
        """
        parts = urlsplit(request.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        with self._connection(parts, until) as (connection, over):
            try:
                connection.request(
                    request.method, target, body=request.body or None, headers=request.headers
                )
                read = self._read(connection)
            except (OSError, http.client.HTTPException) as error:
                why = TOO_LONG if over.is_set() else type(error).__name__
                raise Ambiguous(f"the service did not answer: {why}") from None
            if over.is_set():  # the part that was read may be cut off
                raise Ambiguous(f"the service did not answer: {TOO_LONG}")
            return read

    @contextmanager
    def _connection(
        self, parts: SplitResult, until: float
    ) -> Iterator[tuple[http.client.HTTPConnection, Event]]:
        """Connect to the host of a URL; the yielded event is set when the time is over.

        Raises:
            Failed: The address is not allowed.
            Unavailable: The host could not be reached.
        """
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        address = self._address(parts.scheme, host, port, until)
        tls = ssl.create_default_context() if parts.scheme == "https" else None
        connection = (
            http.client.HTTPConnection(host, port)
            if tls is None
            else http.client.HTTPSConnection(host, port, context=tls)
        )
        with closing(connection):
            try:
                sock = socket.create_connection((address, port), _left(until))
                sock.settimeout(None)
                if tls is not None:
                    sock = tls.wrap_socket(
                        sock, server_hostname=host, do_handshake_on_connect=False
                    )
            except OSError as error:
                raise Unavailable(f"the service is out of reach: {type(error).__name__}") from None
            connection.sock = sock
            with _ended_at(until, sock) as over:
                try:
                    if isinstance(sock, ssl.SSLSocket):
                        sock.do_handshake()
                except OSError as error:
                    why = TOO_LONG if over.is_set() else type(error).__name__
                    raise Unavailable(f"the service is out of reach: {why}") from None
                yield connection, over

    def _address(self, scheme: str, host: str, port: int, until: float) -> str:
        """Return an address of a host whose addresses are all allowed.

        Raises:
            Failed: The address is not allowed.
            Unavailable: The host has no address, or its name was not resolved in time.
        """
        if self.hosts and host not in self.hosts:
            raise Failed("this deployment does not allow calls to this host")
        try:
            found = done_within(_left(until), partial(self.resolve, host, port))
        except TimeoutError:
            raise Unavailable("the address of the service took too long to find") from None
        except (OSError, UnicodeError):
            raise Unavailable("the host of the service has no address") from None
        addresses = [ipaddress.ip_address(each.partition("%")[0]) for each in found]
        if not addresses:
            raise Unavailable("the host of the service has no address")
        here = self.loopback and all(each.is_loopback for each in addresses)
        if not here and not all(map(is_public, addresses)):
            raise Failed("the address of the service is not public")
        if scheme != "https" and not here:
            raise Failed("the service must be called by https")
        return str(addresses[0])

    def _read(self, connection: http.client.HTTPConnection) -> tuple[HttpAnswer, str | None]:
        """Read an answer, and the URL that it redirects to, if any.

        Raises:
            AnswerTooLong: The answer has more than `max_bytes` bytes.
            http.client.IncompleteRead: The answer is incomplete.
        """
        with connection.getresponse() as response:
            body = bytearray()
            while chunk := response.read1(CHUNK):
                body += chunk
                if len(body) > self.max_bytes:
                    raise AnswerTooLong(
                        f"its answer has more than {self.max_bytes // 1_000_000} MB"
                    )
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            answer = HttpAnswer(
                status=response.status,
                content_type=response.getheader("content-type", "")[:200],
                mcp_session=response.getheader("mcp-session-id", "")[:200],
                etag=response.getheader("etag", "")[:200],
                last_modified=response.getheader("last-modified", "")[:200],
                body=bytes(body),
            )
            location = response.getheader("location") if response.status in FOLLOWED else None
            return answer, location


def _left(until: float) -> float:
    """Return the seconds that are left to resolve a name or to connect."""
    return max(min(CONNECT_SECONDS, until - monotonic()), 0.001)


@contextmanager
def _ended_at(until: float, sock: socket.socket) -> Iterator[Event]:
    """Break a socket's connection at the time `until`, and set the yielded event."""
    over = Event()

    def end() -> None:
        over.set()
        with suppress(OSError):  # the service has already closed the connection
            # Not the `shutdown` of a TLS socket, which would continue to read without decrypting.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = Timer(max(until - monotonic(), 0), end)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
