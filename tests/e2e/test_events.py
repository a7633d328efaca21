"""Events on a running stack: a service is told what has happened, also beside a slow one."""

import re
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from local.template import ROOT
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI

[CHECK] = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "events.md").read_text(encoding="utf-8"), re.DOTALL
)
TENANT = "told"
SECRET = "The vault opens with 4711"


class Service:
    """A service with the code of the page.

    Attributes:
        secret: The secret of the endpoint.
        told: What the code printed of each event that it accepted: id, type and data.
        bodies: All bodies that arrived.
        url: The address of the service.
    """

    def __init__(self) -> None:
        self.secret = ""
        self.told: list[tuple[Any, ...]] = []
        self.bodies: list[bytes] = []
        page: dict[str, Any] = {"print": lambda *given: self.told.append(given)}
        exec(CHECK, page)
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                service.bodies.append(body)
                self.send_response(page["received"](service.secret, dict(self.headers), body))
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/events"


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    thread = Thread(target=made.server.serve_forever, args=(0.05,))
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def test_service_receives_signed_chat_events_in_order_without_message_text(
    start: StartStack, model: ScriptedOpenAI, service: Service
) -> None:
    client = start()  # the shared stack's clock may be ahead, and signatures get old
    token = client.token("ops", "chat admin", TENANT)
    new = {"url": service.url, "types": ["message.created", "run.ended"]}
    endpoint = client.ok("POST", "/v1/event-endpoints", new, token=token)
    service.secret = endpoint["secret"]
    agent = client.ok("POST", "/v1/agents", {"name": "Coach", "reply_mode": "text"}, token=token)[
        "id"
    ]
    members = [{"kind": "agent", "id": agent}]
    chat = client.ok("POST", "/v1/chats", {"kind": "direct", "members": members}, token=token)["id"]
    for number in (1, 2):
        model.say("The plank.")
        said = {"text": SECRET, "client_id": str(number)}
        client.ok("POST", f"/v1/chats/{chat}/messages", said, token=token)
        client.drain()
    of_chat = [(type_, data) for _, type_, data in service.told if data["chat_id"] == chat]
    assert [data["seq"] for type_, data in of_chat if type_ == "message.created"] == [1, 2, 3, 4]
    ends = [place for place, (type_, _) in enumerate(of_chat) if type_ == "run.ended"]
    assert len(ends) == 2
    assert ends[0] < [data.get("seq") for _, data in of_chat].index(3)
    assert len(service.told) == len(service.bodies)
    assert SECRET.encode() not in b"".join(service.bodies)
    assert client.ok("GET", "/v1/event-endpoints", token=token)["items"] == [
        {name: value for name, value in endpoint.items() if name != "secret"}
    ]


def test_slow_service_of_one_tenant_delays_no_event_of_another(
    start: StartStack, service: Service
) -> None:
    client, over = start(), Event()
    open_calls, most = set[int](), [0]

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer byte by byte, as long as the caller waits."""
            open_calls.add(id(self))
            most[0] = max(most[0], len(open_calls))
            try:
                while not over.wait(0.1):
                    self.wfile.write(b"x")
            except OSError:  # the caller has closed the connection
                open_calls.remove(id(self))

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    def chats(tenant: str, url: str, count: int) -> None:
        """Let an endpoint wait for messages, and write in so many chats."""
        token = client.token("ann", "chat admin", tenant)
        endpoint = {"url": url, "types": ["message.created"]}
        service.secret = client.ok("POST", "/v1/event-endpoints", endpoint, token=token)["secret"]
        for _ in range(count):
            chat = client.ok("POST", "/v1/chats", {"kind": "group"}, token=token)["id"]
            said = {"text": "Hello", "client_id": chat}
            client.ok("POST", f"/v1/chats/{chat}/messages", said, token=token)

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as slow:
        slow.daemon_threads = True
        Thread(target=slow.serve_forever, args=(0.05,)).start()
        chats("slow", f"http://127.0.0.1:{slow.server_port}/events", 8)
        chats("told", service.url, 1)
        until = time.monotonic() + 30
        while not service.told and time.monotonic() < until:
            time.sleep(0.05)
        over.set()
        slow.shutdown()
    assert service.told
    assert most == [2], "the other workers are free"
