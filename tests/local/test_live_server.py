"""The local WebSocket server: functions called as API Gateway does, slow readers, the end."""

import json
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from local.errors import PortInUseError
from local.events import Event
from local.template import Function
from local.web.live_server import MAX_WAITING, LiveServer
from skein.errors import ConnectionGone
from tests.support.template import deployed_template

ROUTES = deployed_template().socket_routes
SECONDS = 10.0
LARGE = b64encode(Random(1).randbytes(75_000)).decode()  # which does not compress


class Functions:
    """An invoker that notes the events, and refuses each ticket but `good`.

    Attributes:
        defects: The functions that fail for each event.
    """

    def __init__(self) -> None:
        self.defects: set[str] = set()
        self.events: list[tuple[str, Event]] = []
        self.changed = threading.Condition()

    def invoke(self, function: Function, event: Event) -> Any:
        with self.changed:
            self.events.append((function.logical_id, event))
            self.changed.notify_all()
        if function.logical_id == "LiveConnect":
            good = (event.get("queryStringParameters") or {}).get("ticket") == "good"
            return {"statusCode": 200 if good else 401}
        if event.get("body") == "crash" or function.logical_id in self.defects:
            raise ValueError("a defect")
        return {"statusCode": 200}

    def wait_for(self, name: str, count: int = 1) -> list[Event]:
        """Return the events of a function once there are `count` of them."""

        def found() -> list[Event]:
            return [event for each, event in self.events if each == name]

        with self.changed:
            assert self.changed.wait_for(lambda: len(found()) >= count, SECONDS)
            return found()


@contextmanager
def running() -> Iterator[tuple[LiveServer, Functions]]:
    server, functions = LiveServer(0), Functions()
    server.start(ROUTES, functions)
    try:
        yield server, functions
    finally:
        server.stop()


@contextmanager
def opened(server: LiveServer) -> Iterator[ClientConnection]:
    url = f"{server.url}?ticket=good"
    with connect(url, open_timeout=SECONDS, close_timeout=1.0) as client:
        yield client


def connection_id(functions: Functions) -> str:
    [event] = functions.wait_for("LiveConnect")
    return str(event["requestContext"]["connectionId"])


def test_functions_are_called_as_the_gateway_calls_them() -> None:
    with running() as (server, functions):
        with opened(server) as client:
            client.send('{"type": "ping"}')
            [received] = functions.wait_for("LiveFrames")
            server.push(connection_id(functions), '{"type": "pong"}')
            assert json.loads(client.recv(SECONDS)) == {"type": "pong"}
        [left] = functions.wait_for("LiveDisconnect")
    ids = {event["requestContext"]["connectionId"] for event in (received, left)}
    assert ids == {connection_id(functions)}
    assert received["body"] == '{"type": "ping"}'
    assert received["requestContext"]["routeKey"] == "$default"


@pytest.mark.parametrize(("path", "status"), [("live?ticket=bad", 401), ("live", 401), ("x", 404)])
def test_refused_handshake_opens_no_connection(path: str, status: int) -> None:
    with running() as (server, _):
        url = f"ws://127.0.0.1:{server.port}/{path}"
        with pytest.raises(InvalidStatus) as refused, connect(url, open_timeout=SECONDS):
            pass
        assert refused.value.response.status_code == status


def test_close_ends_the_connection_after_the_frames_before_it() -> None:
    with running() as (server, functions), opened(server) as client:
        server.push(connection_id(functions), "last")
        server.close(connection_id(functions))
        assert client.recv(SECONDS) == "last"
        with pytest.raises(ConnectionClosed):
            client.recv(SECONDS)
        functions.wait_for("LiveDisconnect")
        with pytest.raises(ConnectionGone):
            server.push(connection_id(functions), "too late")
        server.close(connection_id(functions))


def test_crash_of_a_function_keeps_the_connection() -> None:
    with running() as (server, functions), opened(server) as client:
        client.send("crash")
        client.send("again")
        assert len(functions.wait_for("LiveFrames", 2)) == 2


def test_crash_at_the_end_of_a_connection_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with running() as (server, functions):
        functions.defects.add("LiveDisconnect")
        with opened(server):
            functions.wait_for("LiveConnect")
        until = time.monotonic() + SECONDS
        while "LiveDisconnect failed" not in caplog.messages:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_reader_that_does_not_read_is_closed() -> None:
    # The client's library stops to read after some frames.
    with running() as (server, functions), opened(server):
        mine = connection_id(functions)
        until = time.monotonic() + SECONDS
        with suppress(ConnectionGone):
            while time.monotonic() < until:
                for _ in range(MAX_WAITING):
                    server.push(mine, LARGE)
                time.sleep(0.01)
        functions.wait_for("LiveDisconnect")


def test_slow_reader_does_not_delay_other_connections() -> None:
    with running() as (server, functions), opened(server), opened(server) as reader:
        slow, fast = (
            str(event["requestContext"]["connectionId"])
            for event in functions.wait_for("LiveConnect", 2)
        )
        for number in range(4 * MAX_WAITING):
            with suppress(ConnectionGone):
                server.push(slow, LARGE)
            server.push(fast, str(number))
            assert reader.recv(SECONDS) == str(number)
        functions.wait_for("LiveDisconnect")


def test_stop_closes_all_connections() -> None:
    with running() as (server, _), opened(server) as client:
        server.stop()
        with pytest.raises(ConnectionClosed):
            client.recv(SECONDS)


def test_port_in_use_is_reported() -> None:
    server = LiveServer(0)
    try:
        with pytest.raises(PortInUseError, match="SKEIN_LIVE_PORT"):
            LiveServer(server.port)
    finally:
        server.stop()
