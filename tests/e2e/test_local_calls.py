"""The calls under `/local` do what `docs/local.md` says."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.support.local_page import documented_calls
from tests.support.scripted_openai import ScriptedOpenAI

SECONDS = 60


def _run(example: str, url: str) -> Any:
    """Run a shell example of the page and return its JSON output."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"URL={url}\n{example}"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _fields(body: dict[str, Any], documented: frozenset[str]) -> Iterator[str]:
    """Yield the names of a response's fields, in the form of the page."""
    for name, value in body.items():
        if isinstance(value, list) and name not in documented:
            yield from {f"{name}[].{inner}" for item in value for inner in item}
        else:
            yield name


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_examples_of_the_page_return_the_documented_fields(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    model.say("Hello, too.")
    url = start().url
    calls = documented_calls()
    listing = calls.pop(("GET", "sms"))  # last, when the answer has arrived
    operator = Client(url).token("operator", "admin")
    agent = Client(url).ok("POST", "/v1/agents", {"name": "Planner"}, token=operator)
    plan = {"name": "Report", "instruction": "Report.", "run_after": "1 week"}
    Client(url).ok("POST", f"/v1/agents/{agent['id']}/plans", plan, token=operator)
    for call, described in [*calls.items(), (("GET", "sms"), listing)]:
        answer = _run(described.example, url)
        assert set(_fields(answer, described.response)) == described.response, call
    assert [sms["body"] for sms in answer["items"]] == ["Hello, too."]


def test_number_that_is_assigned_to_another_tenant_is_no_line(client: Client) -> None:
    number = {"phone": "+15005550016", "tenant": "globex"}
    assert client.ok("POST", "/local/numbers", number) == number
    token = client.token("operator", "admin")
    agent = client.ok("POST", "/v1/agents", {"name": "Planner"}, token=token)
    line = {"phone": "+15005550016", "agent_id": agent["id"]}
    assert client.call("POST", "/v1/lines", line, token=token).status == 422
    client.ok("POST", "/v1/lines", line | {"phone": "+15005550017"}, token=token)
    refused = client.call("POST", "/local/numbers", number | {"phone": "+15005550017"})
    assert (refused.status, "another tenant" in refused.json["detail"]) == (400, True)


def test_token_with_a_name_names_the_user_from_the_first_call_on(client: Client) -> None:
    named = {"sub": "usr_named", "tenant": "names", "scope": "chat", "name": "Ann Lee"}
    token = client.ok("POST", "/local/token", named)["token"]
    assert client.ok("GET", "/v1/me", token=token)["name"] == "Ann Lee"
    unnamed = client.token("usr_unnamed", tenant="names")
    assert client.ok("GET", "/v1/me", token=unnamed)["name"] == "usr_unnamed"
    assert "name" not in jwt.decode(unnamed, options={"verify_signature": False})


@pytest.mark.parametrize("name", ["", 7, ["Ann"]])
def test_token_with_a_bad_name_is_refused(client: Client, name: object) -> None:
    body = {"sub": "ann", "tenant": "demo", "name": name}
    answer = client.call("POST", "/local/token", body)
    assert (answer.status, answer.json["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/local/config?verbose=1", None),
        ("GET", "/local/sms?phone=%2B15005550100", None),
        ("POST", "/local/token", {"sub": "ann", "tenant": "demo", "scopes": "admin"}),
        ("POST", "/local/token?sub=ann", {"sub": "ann", "tenant": "demo"}),
        ("POST", "/local/drain", {"seconds": 5}),
        ("GET", "/local/due?until=tomorrow", None),
    ],
)
def test_local_call_with_an_unknown_name_is_refused(
    client: Client, method: str, path: str, body: object
) -> None:
    answer = client.call(method, path, body)
    assert (answer.status, answer.json["code"]) == (400, "invalid")
    assert "is unknown. The names are " in answer.json["detail"]


@pytest.mark.parametrize("limit", ["0", "101", "-1", "many"])
def test_list_of_events_with_a_bad_limit_is_refused(client: Client, limit: str) -> None:
    answer = client.call("GET", f"/local/due?limit={limit}")
    assert (answer.status, answer.json["code"]) == (400, "invalid")
    assert "`limit` must be" in answer.json["detail"]
