"""Requests to services that operators name, within limits and never to private addresses.

A host is resolved once, each of its addresses is checked, and the connection goes to the address
that was checked. So a name that resolves to another address later changes nothing. The library of
the model's client resolves names itself, out of reach of such a check.
"""

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urljoin, urlsplit

from skein.errors import Ambiguous, AnswerTooLong, Failed, Redirected, Unavailable
from skein.models.common.http import HttpAnswer, HttpRequest

CONNECT_SECONDS = 5.0
MAX_REDIRECTS = 3
MAX_BYTES = 1_000_000
CHUNK = 64 * 1024
KEEP_METHOD = frozenset({307, 308})
FOLLOWED = frozenset({301, 302, 303, 307, 308})
NAT64 = ipaddress.ip_network("64:ff9b::/96")
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_public(address: IpAddress) -> bool:
    """Tell whether an address is one of the public internet, also behind an IPv6 translation."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is not None:
            return is_public(inner)
        if address in NAT64 or address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundHttpClient:
    """`OutboundHttp` by the standard library.

    Attributes:
        loopback: Whether plain http to this machine is allowed, as on the local stack.
        max_bytes: The most bytes of an answer.
        hosts: The hosts that may be called; empty for all.
        resolve: Returns the addresses of a host.
    """

    loopback: bool = False
    max_bytes: int = MAX_BYTES
    hosts: Sequence[str] = ()
    resolve: Callable[[str, int], Sequence[str]] = resolve

    def send(self, request: HttpRequest, *, seconds: float) -> HttpAnswer:
        """See `skein.ports.OutboundHttp`."""
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
        """Send one request, and return the answer and where it redirects to.

        Args:
            until: The end of the time-out, by `time.monotonic`.
        """
        parts = urlsplit(request.url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        address = self._address(parts.scheme, host, port)
        connection = _connection(parts.scheme, host, port, address, until)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            try:
                connection.connect()
            except (OSError, http.client.HTTPException) as error:
                raise Unavailable(f"the service is out of reach: {type(error).__name__}") from None
            try:
                connection.request(
                    request.method, target, body=request.body or None, headers=request.headers
                )
                return self._read(connection, until)
            except (OSError, http.client.HTTPException) as error:
                raise Ambiguous(f"the service did not answer: {type(error).__name__}") from None
        finally:
            connection.close()

    def _address(self, scheme: str, host: str, port: int) -> str:
        """Return the address of a host, if all of its addresses are allowed.

        Raises:
            Failed: The address is not allowed.
            Unavailable: The host has none.
        """
        if self.hosts and host not in self.hosts:
            raise Failed("this deployment does not allow calls to this host")
        try:
            found = self.resolve(host, port)
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

    def _read(
        self, connection: http.client.HTTPConnection, until: float
    ) -> tuple[HttpAnswer, str | None]:
        """Read an answer that is not too long, within the time."""
        response = connection.getresponse()
        body = bytearray()
        while chunk := response.read1(CHUNK):
            body += chunk
            if len(body) > self.max_bytes:
                raise AnswerTooLong(f"its answer has more than {self.max_bytes // 1_000_000} MB")
            left = until - monotonic()
            if left <= 0:
                raise TimeoutError
            if connection.sock is not None:
                connection.sock.settimeout(left)
        kind = response.getheader("content-type", "")
        answer = HttpAnswer(
            status=response.status,
            content_type=kind[:200],
            mcp_session=response.getheader("mcp-session-id", "")[:200],
            body=bytes(body),
        )
        location = response.getheader("location") if response.status in FOLLOWED else None
        return answer, location


def _connection(
    scheme: str, host: str, port: int, address: str, until: float
) -> http.client.HTTPConnection:
    """Return a connection to an address, which asks for the host by name."""
    left = max(until - monotonic(), 0.001)

    def connect(*_: object) -> socket.socket:
        sock = socket.create_connection((address, port), min(CONNECT_SECONDS, left))
        sock.settimeout(max(until - monotonic(), 0.001))
        return sock

    connection = (
        http.client.HTTPSConnection(host, port, context=ssl.create_default_context())
        if scheme == "https"
        else http.client.HTTPConnection(host, port)
    )
    vars(connection)["_create_connection"] = connect
    return connection
