"""A new agent with default settings speaks, whether its model calls tools or answers in text."""

from typing import Any

import pytest

import admin_api
import mobile_api
from skein.models.runs.completion import ModelRequest
from skein.prompts import render
from tests.support.agents import settle
from tests.support.api_client import Client
from tests.support.builders import World
from tests.support.fakes import Calls, ScriptedModel, says


def text_first(request: ModelRequest) -> str | Calls:
    """Answer in text; after a nudge, call the tool that the nudge names, then end in text."""
    if request.messages[-1].role == "tool":
        return "Done."
    nudged = request.messages[-1].content == render("again_unspoken")
    return says("Hello, Husam!") if nudged else "Hello, Husam!"


def opened(*people: str, kind: str, visibility: str) -> tuple[World, Client, Any]:
    """A chat of Husam and others with an agent of which only the name is set."""
    world = World(model=ScriptedModel.saying(default=text_first))
    admin = Client(world, admin_api, sub="usr_op", scope="admin")
    for name in ("Husam", *people):
        created = admin.post("/v1/users", {"id": f"usr_{name.lower()}", "name": name})
        assert created.status == 201, created.body
    agent = admin.post("/v1/agents", {"name": "Coach", "listed": True})
    assert agent.status == 201, agent.body
    husam = Client(world, mobile_api, sub="usr_husam", scope="chat")
    members = [{"kind": "user", "id": f"usr_{name.lower()}"} for name in people]
    members.append({"kind": "agent", "id": agent.body["id"]})
    chat = {"title": "Team", "kind": kind, "visibility": visibility, "members": members}
    answer = husam.post("/v1/chats", chat)
    assert answer.status == 201, answer.body
    return world, husam, answer.body


def answers_to(text: str, world: World, husam: Client, chat: Any) -> list[str]:
    path = f"/v1/chats/{chat['id']}/messages"
    assert husam.post(path, {"text": text, "client_id": "1"}).status == 201
    settle(world)
    shown = husam.call("GET", path).body["items"]
    return [one["text"] for one in shown if one["sender"]["kind"] == "agent"]


def test_new_agent_answers_in_a_direct_chat() -> None:
    world, husam, chat = opened(kind="direct", visibility="private")
    assert answers_to("Hi", world, husam, chat) == ["Hello, Husam!"]
    assert len(world.model.requests) == 1


def test_new_agent_answers_in_a_group_of_two() -> None:
    world, husam, chat = opened(kind="group", visibility="open")
    assert answers_to("Hi", world, husam, chat) == ["Hello, Husam!"]


def test_new_agent_that_is_named_answers_in_a_larger_group() -> None:
    world, husam, chat = opened("Ann", kind="group", visibility="open")
    assert answers_to("@Coach hi", world, husam, chat) == ["Hello, Husam!"]


@pytest.mark.parametrize("name", ["Skein", "s.k.e.i.n", "You", "Ann (chosen, k3f9)"])
def test_agent_with_a_reserved_name_is_refused(name: str) -> None:
    admin = Client(World(), admin_api, sub="usr_op", scope="admin")
    assert admin.post("/v1/agents", {"name": name}).status == 422
    agent = admin.post("/v1/agents", {"name": "Coach\n\u202eSkein"})
    assert agent.body["name"] == "Coach Skein"
    assert admin.patch(f"/v1/agents/{agent.body['id']}", {"name": name}).status == 422


def test_agent_from_a_template_has_its_fields_and_plans_unless_the_request_sets_them() -> None:
    admin = Client(World(), admin_api, sub="usr_op", scope="admin")
    shown = {each["name"]: each for each in admin.get("/v1/agent-templates").body["items"]}
    assert list(shown) == ["coach", "family", "receptionist", "shop_help", "empty"]
    for name, template in shown.items():
        made = admin.post(
            "/v1/agents", {"name": "Mira", "template": name, "time_zone": "Asia/Tokyo"}
        )
        assert made.status == 201, made.body
        plans = admin.get(f"/v1/agents/{made.body['id']}/plans").body["items"]
        assert made.body["system_prompt"] == template["system_prompt"]
        assert made.body["enabled_tools"] == template["enabled_tools"]
        assert [(each["name"], each["cron"]) for each in plans] == [
            (each["name"], each["cron"]) for each in template["plans"]
        ]
        assert {each["time_zone"] for each in plans} <= {"Asia/Tokyo"}
    own = {"name": "Mira", "template": "coach", "system_prompt": "Be Mira.", "outsiders": None}
    assert admin.post("/v1/agents", own).body["system_prompt"] == "Be Mira."
    assert admin.post("/v1/agents", {"name": "Mira", "template": "none"}).status == 422


def test_repeated_call_does_not_set_the_plans_of_a_template_again() -> None:
    admin = Client(World(), admin_api, sub="usr_op", scope="admin")
    new, key = {"name": "Mira", "template": "coach"}, {"Idempotency-Key": "5f0c"}
    agent = admin.call("POST", "/v1/agents", new, headers=key).body["id"]
    [plan] = admin.get(f"/v1/agents/{agent}/plans").body["items"]
    path = f"/v1/agents/{agent}/plans/{plan['id']}"
    assert admin.call("DELETE", path).status == 204
    [canceled] = admin.get(f"/v1/agents/{agent}/plans").body["items"]
    assert admin.call("POST", "/v1/agents", new, headers=key).body["id"] == agent
    assert admin.get(f"/v1/agents/{agent}/plans").body["items"] == [canceled]
