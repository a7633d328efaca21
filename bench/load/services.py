"""A service of the tenant that the agent calls for a share of the people, and that counts calls.

The service behaves as an idempotent tool promises: a repeated key has no second effect.
"""

import base64
import json
import threading
from collections import Counter
from collections.abc import Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

from bench.api import Api
from bench.load.storm import Storm, shaken
from local.config import LOOPBACK
from local.events import Request, Response, json_response
from local.web.server import Server

READ, WRITE = "order_status", "book_table"
ONE_IN = 5  # of the people: the agent calls the tools for their messages
TOOL_SECONDS = 2
DOWN = json_response(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "down"})
MARKED = {"type": "object", "properties": {"marker": {"type": "string"}}, "required": ["marker"]}


def calls_tools(marker: str) -> bool:
    """Tell whether the agent calls the tools to answer a message.

    It does for some of the phones: the marker `p005-1-2` is that of a message of phone 5.
    """
    return marker[1:4].isdecimal() and int(marker[1:4]) % ONE_IN == 0


class BookingService:
    """Context manager that serves the bookings over HTTP.

    Attributes:
        effects: The number of bookings by run and message.
        keys: The number of bookings by idempotency key.
    """

    def __init__(self, storm: Storm) -> None:
        self.effects: Counter[tuple[str, str]] = Counter()
        self.keys: Counter[str] = Counter()
        self._lock = threading.Lock()
        answer = shaken(
            self.answer, storm, name="tool", throttled=DOWN, hang_seconds=TOOL_SECONDS + 0.5
        )
        self._server = Server(0, answer)
        self.url = f"http://{LOOPBACK}:{self._server.port}"

    def answer(self, request: Request) -> Response:
        """Return the state of an order, or make a booking, once for each idempotency key."""
        if request.method == "GET":
            return json_response(HTTPStatus.OK, {"state": "on its way"})
        key = request.headers["idempotency-key"]
        encoded = request.headers["skein-context"]
        context = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
        marker = str(json.loads(request.body)["marker"])
        with self._lock:
            if not self.keys[key]:
                self.keys[key] += 1
                self.effects[context["run_id"], marker] += 1
        return json_response(HTTPStatus.OK, {"booked": marker})

    def offer_to(self, api: Api, agents: Sequence[dict[str, Any]]) -> None:
        """Create the tools that call this service, and enable them for agents."""
        operator = api.token("operator", "admin")
        tool = {
            "parameters": MARKED,
            "privacy": "keeps_by_person",
            "timeout_seconds": TOOL_SECONDS,
        }
        look: dict[str, Any] = {"name": READ, "description": "Look an order up."}
        book: dict[str, Any] = {"name": WRITE, "description": "Book a table.", "effect": "write"}
        book |= {"idempotent": True, "approval": "none"}
        look |= {"http": {"url": f"{self.url}/orders/{{marker}}"}}
        book |= {"http": {"method": "POST", "url": f"{self.url}/bookings"}}
        for each in (look, book):
            api.ok("POST", "/v1/tools", tool | each, token=operator)
        for agent in agents:
            names = [*agent["enabled_tools"], READ, WRITE]
            path = f"/v1/agents/{agent['id']}"
            api.ok("PATCH", path, {"enabled_tools": names}, token=operator)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()
