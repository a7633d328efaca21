"""Connections of the live channel that keep what they were sent."""

import json
from collections import defaultdict
from typing import Any

from skein.errors import ConnectionGone


class FakeSockets:
    """`Sockets` in memory; every id is a connection until it is closed."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = defaultdict(list)
        self.gone: set[str] = set()
        self.failing: Exception | None = None

    def push(self, connection_id: str, text: str) -> None:
        """See `skein.ports.Sockets`."""
        if connection_id in self.gone:
            raise ConnectionGone(connection_id)
        if self.failing is not None:
            raise self.failing
        self.texts[connection_id].append(text)

    def close(self, connection_id: str) -> None:
        """See `skein.ports.Sockets`."""
        if self.failing is not None:
            raise self.failing
        self.gone.add(connection_id)

    def frames(self, connection_id: str) -> list[dict[str, Any]]:
        """Return the frames that a connection was sent, oldest first."""
        return [json.loads(text) for text in self.texts[connection_id]]
