"""Consolidation on the local stack: its own finder, queue and worker make memories over time."""

import json
from urllib.parse import quote

from tests.e2e.conftest import StartStack
from tests.e2e.talking import group, say
from tests.support.scripted_openai import ScriptedOpenAI

IDLE_SECONDS = 1_800  # a short silence: each minute of the stack's clock is work
DIRECT_IDLE_SECONDS = 40 * 60  # more than the 30 minutes after which a direct chat is idle
FINDER_SECONDS = 2 * 3_600  # chats become due at full hours, and the finder runs hourly


def test_consolidation_of_idle_chat_happens_once(start: StartStack, model: ScriptedOpenAI) -> None:
    client = start(consolidation_idle_seconds=IDLE_SECONDS)
    chat, agent = group(client)
    model.memories.append(json.dumps({"journal": ["Late"], "core": ["Husam leads sales."]}))
    say(client, chat, "The report is late")
    client.turn(IDLE_SECONDS / 2)
    assert not model.memory_calls
    client.turn(FINDER_SECONDS)
    [call] = model.memory_calls
    assert "The report is late" in call.body["messages"][1]["content"]
    admin = client.token("ops", "admin")
    [record] = client.ok("GET", f"/v1/chats/{chat}/consolidations", token=admin)["items"]
    assert (record["agent_id"], record["core"], record["journal"]) == (agent, 1, 1)
    client.turn(FINDER_SECONDS)
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


def test_sms_chat_is_remembered_after_forty_minutes(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    fact = "The dog is called Rex."
    model.memories.append(json.dumps({"journal": [], "core": [fact]}))
    model.say("What a good name.")
    client.text("My dog is called Rex")
    client.drain()
    assert not model.memory_calls
    client.turn(DIRECT_IDLE_SECONDS)
    [call] = model.memory_calls
    assert "My dog is called Rex" in call.body["messages"][1]["content"]
    admin = client.token("ops", "admin")
    [agent] = client.ok("GET", "/v1/agents", token=admin)["items"]
    phone = quote(client.phone)
    [user] = client.ok("GET", f"/v1/users?phone={phone}", token=admin)["items"]
    memories = f"/v1/agents/{agent['id']}/memories"
    hers = f"{memories}?user_id={user['id']}&reason=The+complaint+4711"
    theirs = client.ok("GET", hers, token=admin)["items"]
    assert [memory["text"] for memory in theirs] == [fact]
    assert client.ok("GET", memories, token=admin)["items"] == []
    client.turn(DIRECT_IDLE_SECONDS)
    assert len(model.memory_calls) == 1
