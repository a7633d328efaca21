"""The stack's own finder, queue and worker: hours pass, and agents remember."""

import json

from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI

SEVEN_HOURS = 7 * 3_600


def group(client: Client) -> tuple[str, str]:
    """A group with an agent that listens; returns the ids of both."""
    admin, husam = client.token("ops", "admin"), client.token("usr_husam")
    agent = client.ok("POST", "/v1/agents", {"name": "Keeper"}, token=admin)["id"]
    members = [{"kind": "agent", "id": agent}]
    new = {"title": "Q4", "kind": "group", "respond": "manual", "members": members}
    return client.ok("POST", "/v1/chats", new, token=husam)["id"], agent


def say(client: Client, chat: str, text: str) -> None:
    message = {"text": text, "client_id": text}
    client.ok("POST", f"/v1/chats/{chat}/messages", message, token=client.token("usr_husam"))


def test_once_a_chat_has_been_quiet_for_six_hours_it_is_remembered(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    chat, agent = group(client)
    model.memories.append(json.dumps({"journal": ["Late"], "core": ["Husam leads sales."]}))
    say(client, chat, "The report is late")
    client.turn(4 * 3_600)
    assert not model.memory_calls
    client.turn(3 * 3_600)
    [call] = model.memory_calls
    assert "The report is late" in call.body["messages"][1]["content"]
    admin = client.token("ops", "admin")
    [record] = client.ok("GET", f"/v1/chats/{chat}/consolidations", token=admin)["items"]
    assert (record["agent_id"], record["core"], record["journal"]) == (agent, 1, 1)
    client.turn(SEVEN_HOURS)
    assert len(model.memory_calls) == 1


def test_an_operator_has_a_chat_remembered_at_once(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    chat, _ = group(client)
    say(client, chat, "The report is late")
    path, admin = f"/v1/chats/{chat}/consolidate", client.token("ops", "admin")
    assert client.call("POST", path, {}, token=client.token("usr_husam")).status == 403
    assert client.ok("POST", path, {}, token=admin)["agents"] == 1
    client.drain()
    assert len(model.memory_calls) == 1
    assert client.ok("POST", path, {}, token=admin)["agents"] == 0
