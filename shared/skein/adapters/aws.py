"""How AWS is reached: every client of a container comes from one session of the SDK.

What a session reads before its first client takes most of the time that a client takes: all the
services and regions there are, and where credentials come from. The next client only adds itself.
"""

import threading
from typing import Any

from botocore.config import Config
from botocore.session import get_session

from skein.settings import Settings

CONNECT_SECONDS = 1


class Aws:
    """Makes clients; region and credentials come from where AWS's SDK finds them.

    Args:
        settings: For an endpoint other than AWS's own.
    """

    def __init__(self, settings: Settings) -> None:
        self._session = get_session()
        self._endpoint_url = settings.aws_endpoint_url
        self._lock = threading.Lock()

    def client(self, service: str, *, read_seconds: float, tries: int, **more: Any) -> Any:
        """A client with time-outs that leave a caller time to answer.

        Args:
            service: By the SDK's name.
            read_seconds: How long an answer is waited for.
            tries: How often the SDK sends a request that fails, the first time included.
            more: What else its configuration says.
        """
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=read_seconds,
            retries={"mode": "standard", "total_max_attempts": tries},
            **more,
        )
        with self._lock:  # clients may be used by many threads at once, but not be made by them
            return self._session.create_client(
                service, endpoint_url=self._endpoint_url, config=config
            )
