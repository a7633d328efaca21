"""What another machine on the same network can access on a local stack."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from local.config import BadConfigError, Config
from local.stack import Stack
from local.twilio.sandbox import API
from local.twilio.webhooks import PREFIX
from tests.e2e.client import Client
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.template import deployed_template

OTHER_MACHINE = "127.0.0.2"  # stands for another machine: /local answers 127.0.0.1 and ::1 alone

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", OTHER_MACHINE])


@pytest.fixture
def exposed(model: ScriptedOpenAI, tmp_path: Path) -> Iterator[Client]:
    """A stack that other machines reach."""
    config = Config(
        port=0, host=OTHER_MACHINE, data_dir=tmp_path / "data", openai_base_url=model.base_url
    )
    stack = Stack(config, template=deployed_template())
    try:
        stack.start()
    except BadConfigError:
        pytest.skip(f"this machine has no address {OTHER_MACHINE}")
    yield Client(stack.url)
    stack.stop()


def _from_another_machine(
    client: Client, method: str, path: str, **headers: str
) -> tuple[int, dict[str, Any]]:
    port = urlsplit(client.url).port
    connection = http.client.HTTPConnection(
        OTHER_MACHINE, port, timeout=10, source_address=(OTHER_MACHINE, 0)
    )
    connection.request(
        method,
        path,
        b"{}" if method == "POST" else None,
        {"X-Forwarded-For": "127.0.0.1"} | headers,
    )
    response = connection.getresponse()
    body: dict[str, Any] = json.loads(response.read())
    connection.close()
    return response.status, body


def test_stack_on_the_network_serves_the_api_to_another_machine_and_local_calls_to_this_one(
    exposed: Client, model: ScriptedOpenAI
) -> None:
    token = exposed.token("ann")
    port = urlsplit(exposed.url).port
    calls = [
        ("GET", "/local/config"),
        ("GET", "/local/sms"),
        ("GET", "/local/nothing"),
        ("GET", "/local/phone"),
        ("GET", "/local/authorize"),
        ("POST", "/local/oauth/token"),
        ("POST", "/local/token"),
        ("POST", "/local/sms"),
        ("POST", "/local/clock"),
        ("POST", "/local/drain"),
        ("GET", f"{PREFIX}/{API}/Accounts/AC0/Messages.json"),
    ]
    for method, path in calls:
        for host in (f"{OTHER_MACHINE}:{port}", f"127.0.0.1:{port}", f"localhost:{port}"):
            status, body = _from_another_machine(exposed, method, path, Host=host)
            assert (status, body["code"]) == (403, "forbidden"), (method, path, host)
    assert _from_another_machine(exposed, "GET", "/healthz")[0] == 200
    assert _from_another_machine(exposed, "GET", "/v1/me")[0] == 401
    status, me = _from_another_machine(exposed, "GET", "/v1/me", Authorization=f"Bearer {token}")
    assert (status, me["id"]) == (200, "ann")
    model.say("Hello!")
    exposed.text("Hi")  # the stack reaches its own sandbox of Twilio on loopback
    exposed.drain()
    assert exposed.texts() == ["Hello!"]
