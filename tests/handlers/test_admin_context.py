"""`GET /v1/agents/{id}/context`: what an agent would be shown now, before anybody pays for it."""

from copy import deepcopy
from typing import Any

import pytest

import admin_api
from skein.adapters.sqlite_table.calls import Call
from skein.prompts import render
from tests.support.api_client import Answer, Client, everything, recorded
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, says
from tests.support.timeline_parser import timeline

HUSAM, COACH = person(), bot()
CONTEXT = "/v1/agents/agt_a/context"
SECTION = {"name", "tokens", "text", "source", "may_be_shown", "cached_tokens", "entries"}


@pytest.fixture
def world() -> World:
    world = World(model=ScriptedModel.saying(default="[silence]"))
    world.agent(history_format="timeline", system_prompt="You coach runners.")
    world.chat(HUSAM, COACH)
    world.post("How far today?", HUSAM)
    return world


def _texts(answer: Answer) -> dict[str, str]:
    assert answer.status == 200, answer.body
    assert set(answer.body) == {"sections", "total_tokens", "marks", "tools"}
    assert all(set(section) == SECTION for section in answer.body["sections"])
    assert answer.body["total_tokens"] == sum(s["tokens"] for s in answer.body["sections"])
    return {section["name"]: section["text"] for section in answer.body["sections"]}


def test_the_gateways_own_event_shows_the_context(world: World) -> None:
    event = deepcopy(recorded("admin_api"))
    event["rawPath"] = event["requestContext"]["http"]["path"] = CONTEXT
    event["requestContext"]["http"]["method"] = "GET"
    event["requestContext"]["authorizer"]["lambda"]["claims"]["tenant"] = TENANT
    event["rawQueryString"] = "chat_id=chat_1"
    event["queryStringParameters"] = {"chat_id": "chat_1"}
    event.pop("body", None)
    shown = _texts(Client(world, api=admin_api).send(event))
    assert shown["TRIGGER"].endswith('asked you to respond now in "Project Alpha".')


def test_preview_equals_the_prompt_of_a_run_started_now(world: World, admin: Client) -> None:
    shown = _texts(admin.get(CONTEXT, chat_id="chat_1"))
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref, agent_id="agt_a")
    world.drain()
    prompt = world.app.run_views.get(TENANT, world.runs()[-1].id).prompt
    assert prompt is not None
    given = {section.name: section.text for section in prompt.sections}
    assert list(shown) == list(given)
    for name in ("IDENTITY", "INSTRUCTIONS", "PARTICIPANTS"):
        # A run that a message started also has a mark of its trigger.
        whole = given[name].replace(f" {render('instructions_trigger_mark')}", "")
        assert shown[name] == whole
    title, [entry] = timeline(shown["CHAT HISTORY"])
    assert (title, entry.text, entry.seen) == ("Project Alpha", "How far today?", False)
    assert "asked you to respond now" in shown["TRIGGER"]


def test_context_preview_without_chat_shows_a_run_without_chat(admin: Client) -> None:
    shown = _texts(admin.get(CONTEXT))
    assert "CHAT HISTORY" not in shown
    assert shown["ACTIVE CHAT"] == "ACTIVE CHAT: none"
    assert '"Project Alpha" (id: chat_1)' in shown["YOUR CHATS"]


def test_context_with_a_history_of_roles_shows_the_messages(world: World, admin: Client) -> None:
    world.agent(history_format="roles")
    shown = _texts(admin.get(CONTEXT, chat_id="chat_1"))
    assert shown["CHAT HISTORY"] == "user: [Husam (human)] How far today?"


def test_context_preview_only_writes_an_audit_entry_and_asks_no_model(
    world: World, admin: Client
) -> None:
    before = everything(world)
    world.table.log.clear()
    _texts(admin.get(CONTEXT, chat_id="chat_1"))
    assert everything(world) == before
    [entry_of_the_audit] = [call for call in world.table.log if _writes(call)]
    assert entry_of_the_audit.method == "write"
    assert world.model.requests == []


def _writes(call: Call) -> bool:
    return call.method in {"write", "transact"}


@pytest.mark.parametrize(
    ("agent_id", "query"),
    [
        ("agt_nobody", {}),
        ("agt_nobody", {"chat_id": "chat_1"}),
        ("agt_a", {"chat_id": "chat_nowhere"}),
        ("agt_a", {"chat_id": "chat_of_others"}),
        ("agt_a", {"chat_id": "chat_left"}),
        ("agt_a", {"chat_id": "chat_discarded"}),
        ("agt_gone", {}),
    ],
)
def test_preview_of_unknown_agent_or_chat_is_404(
    world: World, admin: Client, agent_id: str, query: dict[str, Any]
) -> None:
    world.chat(HUSAM, chat_id="chat_of_others")
    world.chat(HUSAM, COACH, chat_id="chat_left")
    world.app.chat_admin.remove_member(TENANT, "chat_left", HUSAM.ref, COACH.ref)
    world.chat(HUSAM, COACH, chat_id="chat_discarded")
    world.app.chat_admin.discard(TENANT, "chat_discarded", HUSAM.ref)
    world.agent("agt_gone", "Gone")
    world.app.agents.delete(TENANT, "agt_gone")
    answer = admin.get(f"/v1/agents/{agent_id}/context", **query)
    assert (answer.status, answer.code) == (404, "not_found")


def test_run_shows_each_step_with_calls_results_and_times(world: World, admin: Client) -> None:
    world.agent(history_format="timeline", reply_mode="tools")
    world.model.script.append(says("Ten kilometres."))
    world.drain()
    [run] = world.runs()
    [first] = admin.get(f"/v1/runs/{run.id}").body["steps"]
    [call] = first["tool_calls"]
    assert call["name"] == "send_message"
    assert first["results"] == [
        {
            "call_id": call["id"],
            "name": "send_message",
            "status": "done",
            "content": "sent as msg:2",
        }
    ]
    assert first["usage"] == {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 0}
    assert first["started_at"] <= first["ended_at"]
