"""A small MCP server of the official library, on loopback, which counts what it was asked to do."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import uvicorn
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel

from skein.adapters.outbound_http import OutboundHttpClient
from skein.models.common.http import HttpAnswer, HttpRequest

URL = "https://shop.example/mcp"  # which tests forward to the server
SHOP: dict[str, Any] = {"name": "shop", "privacy": "keeps_by_person"}
HTTP = OutboundHttpClient(loopback=True)


class Seat(BaseModel):
    place: Literal["Window", "Bar"]


class Guest(BaseModel):
    name: str


def _ask_for_seat() -> Elicit[Seat]:
    return Elicit("Where do you want to sit?", Seat)


def _ask_for_guest() -> Elicit[Guest]:
    return Elicit("Who comes?", Guest)


@dataclass
class Shop:
    """A shop that books tables and knows orders.

    Attributes:
        port: The port of the server.
        booked: The days that were booked, in order.
        replaced: What the server says in place of other words.
    """

    port: int = 0
    booked: list[str] = field(default_factory=list)
    replaced: dict[bytes, bytes] = field(default_factory=dict)

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request to `URL`."""
        path = urlsplit(request.url).path
        answer = HTTP.send(
            request.model_copy(update={"url": f"http://127.0.0.1:{self.port}{path}"}), seconds=10
        )
        body = answer.body
        for old, new in self.replaced.items():
            body = body.replace(old, new)
        return answer.model_copy(update={"body": body})

    def order_status(self, order: str) -> str:
        """Look up an order."""
        return f"{order} is on its way"

    def book_table(self, day: str, seats: int = 2) -> str:
        """Book a table."""
        if day == "Monday":
            raise ValueError(day)
        self.booked.append(day)
        return f"{seats} seats on {day}"

    def choose_seat(
        self, day: str, seat: Annotated[ElicitationResult[Seat], Resolve(_ask_for_seat)]
    ) -> str:
        """Book a seat, where the person chooses."""
        if not isinstance(seat, AcceptedElicitation):
            return "nothing was booked, since nobody chose"
        self.booked.append(f"{day}, {seat.data.place}")
        return f"a seat at the {seat.data.place}"

    def name_guest(
        self, day: str, guest: Annotated[ElicitationResult[Guest], Resolve(_ask_for_guest)]
    ) -> str:
        """Name a guest, which no choice can ask."""
        return f"{day}: {guest.action}"


@contextmanager
def serving(*servers: MCPServer, **options: Any) -> Iterator[int]:
    """Serve on a free port, which is returned."""
    [server] = servers
    app = server.streamable_http_app(**options)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, ws="none")
    http = uvicorn.Server(config)
    sock = config.bind_socket()
    sock.listen()
    thread = Thread(target=partial(http.run, sockets=[sock]), daemon=True)
    thread.start()
    try:
        yield sock.getsockname()[1]
    finally:
        http.should_exit = True
        thread.join()


@contextmanager
def shop() -> Iterator[Shop]:
    """Open a shop."""
    made, server = Shop(), MCPServer("shop")
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    server.tool(annotations=ToolAnnotations(read_only_hint=True))(made.order_status)
    for tool in (made.book_table, made.choose_seat, made.name_guest):
        server.tool()(tool)
    with serving(server) as port:
        made.port = port
        yield made
