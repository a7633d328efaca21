"""AWS clients, all created from one SDK session per container.

Before a session creates its first client, it loads the list of services and regions, and finds the
credentials. This takes most of the time, so further clients of the session are cheap.
"""

import threading
from typing import Any

from botocore.config import Config
from botocore.session import get_session

from skein.settings import Settings

CONNECT_SECONDS = 1


class Aws:
    """A factory of AWS clients; the SDK finds the region and the credentials.

    Args:
        settings: The settings, which may name an endpoint other than AWS's own.
    """

    def __init__(self, settings: Settings) -> None:
        self._session = get_session()
        self._endpoint_url = settings.aws_endpoint_url
        self._lock = threading.Lock()

    def credentials(self) -> Any:
        """Return the current credentials, which the SDK renews; None without credentials."""
        with self._lock:
            found = self._session.get_credentials()
        return found.get_frozen_credentials() if found is not None else None

    def client(
        self,
        service: str,
        *,
        read_seconds: float,
        tries: int,
        endpoint_url: str | None = None,
        **more: Any,
    ) -> Any:
        """Create a client with time-outs that leave the caller time to answer.

        Args:
            service: The SDK's name of the service.
            read_seconds: The time-out for an answer, in seconds.
            tries: How often the SDK sends a failing request, including the first time.
            endpoint_url: The endpoint of a service without a standard endpoint.
            more: Further options of the client's configuration.
        """
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=read_seconds,
            retries={"mode": "standard", "total_max_attempts": tries},
            **more,
        )
        with self._lock:  # clients are thread-safe, but creating them is not
            return self._session.create_client(
                service, endpoint_url=endpoint_url or self._endpoint_url, config=config
            )
