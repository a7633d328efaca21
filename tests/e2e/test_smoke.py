"""`make smoke` against a running stack: each step is reported, and nothing is left behind."""

import pytest

from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI
from tools.stack.smoke import TOKEN, Smoke, SmokeError, call, main

TENANT = "smoke-of-tests"


def lines(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the result of each printed step by the step's name; the stack may print metrics."""
    out = capsys.readouterr().out.splitlines()
    printed = [line for line in out if not line.startswith("{")][:-1]
    return {line[7:].split(":")[0]: line.split(" ")[0] for line in printed}


def test_smoke_running_stack_passes_and_leaves_no_agent(
    client: Client, model: ScriptedOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    model.say("pong")
    token = client.token("smoke", "chat admin", TENANT)
    assert main([client.url], {TOKEN: token}) == 0
    assert set(lines(capsys).values()) == {"ok"}
    assert client.ok("GET", "/v1/agents", token=token)["items"] == []
    assert client.ok("GET", "/v1/chats", token=token)["items"] == []
    client.drain()


def test_smoke_local_stack_without_token_makes_a_tenant_of_its_own(
    client: Client, model: ScriptedOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    model.say("pong")
    assert main([f"{client.url}/"], {}) == 0
    assert lines(capsys)["Answer"] == "ok"
    client.drain()


def test_smoke_tenant_with_lines_fails_before_anything_is_made(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    token = client.token("smoke", "chat admin", "demo")  # the demo has a line and an agent
    before = client.ok("GET", "/v1/agents", token=token)
    assert main([client.url], {TOKEN: token}) == 1
    results = lines(capsys)
    assert results["Tenant"] == "FAILED"
    assert "Agent" not in results
    assert client.ok("GET", "/v1/agents", token=token) == before


def test_smoke_agent_that_never_answers_fails_and_cleans_up(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start(reply_debounce_seconds=600)
    token = client.token("smoke", "chat admin", TENANT)
    steps = {step[0]: step for step in Smoke(client.url, token, answer_seconds=1.0).run()}
    assert steps["Answer"][2] == "FAILED"
    assert "no answer within 1 s" in steps["Answer"][1]
    assert steps["Clean-up"][1:] == ("chat discarded, agent deleted", "ok")
    assert client.ok("GET", "/v1/agents", token=token)["items"] == []


def test_smoke_token_without_admin_fails_at_the_tenant(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([client.url], {TOKEN: client.token("smoke", "chat", TENANT)}) == 1
    assert lines(capsys)["Tenant"] == "FAILED"


def test_call_to_closed_port_raises_smoke_error() -> None:
    with pytest.raises(SmokeError):
        call("GET", "http://127.0.0.1:1/healthz")


def test_smoke_without_url_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], {}) == 2
    assert "URL=" in capsys.readouterr().err
