"""Pauses of runs and SMS: messages are accepted, and answered after the pause."""

from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI


def test_paused_run_and_text_reach_the_phone_after_their_pauses(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client: Client = start()
    admin = client.token("ops", "admin")
    client.ok("PUT", "/v1/pauses/runs", {}, token=admin)
    client.ok("PUT", "/v1/pauses/texts", {}, token=admin)
    model.say("Hello, Dana!")
    client.text("Hi, Dana here")
    client.drain()
    client.turn(3_600)
    assert not model.calls
    assert client.texts() == []
    client.ok("DELETE", "/v1/pauses/runs", token=admin)
    client.turn(60)
    client.drain()
    assert len(model.calls) == 1
    assert client.texts() == []
    client.ok("DELETE", "/v1/pauses/texts", token=admin)
    client.turn(60)
    client.drain()
    assert client.texts() == ["Hello, Dana!"]
