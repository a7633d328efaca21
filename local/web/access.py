"""Access rule of the routes under `/local`: only this machine, and no web page of another site."""

from dataclasses import dataclass

from local.events import Request, Response
from local.web.errors import error_answer

PEERS = frozenset({"127.0.0.1", "::1"})
NAMES = ("127.0.0.1", "localhost", "[::1]")
HTTP_PORT = 80  # browsers and curl leave this port out of `Host` and `Origin`


@dataclass(frozen=True)
class LocalAccess:
    """Checks who sends a request to `/local`."""

    port: int

    def allows(self, request: Request) -> bool:
        """Return whether a request comes from this machine, and not from another site's web page.

        The address that counts is that of the connection; headers such as `X-Forwarded-For` are
        ignored. `Host` must be the stack's own, so that an attacker's domain name that points to
        this machine is refused (DNS rebinding). `Origin` must be absent or match `Host`, so that
        pages of other sites are refused.
        """
        host, origin = request.headers.get("host"), request.headers.get("origin")
        return (
            request.source_ip in PEERS
            and host in self._hosts
            and (origin is None or origin == f"http://{host}")
        )

    @property
    def _hosts(self) -> frozenset[str]:
        hosts = {f"{name}:{self.port}" for name in NAMES}
        return frozenset(hosts | set(NAMES) if self.port == HTTP_PORT else hosts)


def refused() -> Response:
    """Return the 403 response to a request that is not allowed."""
    return error_answer(403, "forbidden", "These routes accept requests from this machine only.")
