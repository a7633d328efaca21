"""The operators' home page, warnings about tools, and superseded memories."""

from collections.abc import Callable

import pytest

from skein.errors import KeyRefused, SkeinError, Unavailable, Unreachable
from tests.support.api_client import Client, operator
from tests.support.builders import World, bot, person
from tests.support.fakes import ScriptedModel, says

HUSAM, COACH = person(), bot()
MEMORIES = "/v1/agents/agt_a/memories"


def group(*script: str) -> World:
    world = World(model=ScriptedModel.saying(*script, default="[silence]"))
    world.agent(reply_mode="tools")
    world.chat(HUSAM, COACH, kind="group")
    return world


def failing(error: SkeinError) -> Callable[..., frozenset[str]]:
    def models(*, seconds: float) -> frozenset[str]:
        raise error

    return models


def test_system_shows_current_runs_and_the_usage_of_today() -> None:
    world = group()
    world.post("Hello", HUSAM)
    body = operator(world).get("/v1/system").body
    assert [run["status"] for run in body["runs"]] == ["queued"]
    world.drain()
    body = operator(world).get("/v1/system").body
    assert body["runs"] == []
    assert body["today"]["calls"] >= 1
    assert (body["model"]["reachable"], body["last_error"]) == (True, None)
    assert body["now"].startswith("2026-02-18T")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyRefused("no"), "key_refused"),
        (Unreachable("no"), "unreachable"),
        (Unavailable("no"), "unavailable"),
    ],
)
def test_system_whose_model_is_out_of_reach_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, error: SkeinError, code: str
) -> None:
    world = group()
    monkeypatch.setattr(world.app.ports.model_list, "models", failing(error))
    model = operator(world).get("/v1/system").body["model"]
    assert (model["reachable"], model["code"]) == (False, code)
    assert model["action"]


def test_backlog_counts_the_waiting_work_of_the_tenant_only() -> None:
    world = group()
    world.post("Hello", HUSAM)
    body = operator(world).get("/v1/system/backlog").body
    [runs] = [row for row in body["items"] if row["kind"] == "run"]
    assert (runs["later"], runs["due"], runs["statuses"]) == (1, 0, {"queued": 1})
    assert (runs["oldest_due_at"], runs["complete"]) == (None, True)
    others = operator(world, tenant="other").get("/v1/system/backlog").body
    assert all(row["later"] == 0 and not row["statuses"] for row in others["items"])
    assert Client(world, sub=HUSAM.id).get("/v1/system/backlog").status in {403, 404}


def test_system_shows_nothing_of_other_tenants() -> None:
    world = group()
    world.post("Hello", HUSAM)
    assert operator(world, tenant="other").get("/v1/system").body["runs"] == []


def test_agent_in_tools_mode_that_called_no_tool_has_a_warning() -> None:
    world = group()
    admin = operator(world)
    for n in range(3):
        assert admin.get("/v1/agents/agt_a").body["warnings"] == []
        world.post(f"Message {n}", HUSAM)
        world.drain()
    [warning] = admin.get("/v1/agents/agt_a").body["warnings"]
    assert warning["code"] == "no_tool_called"


def test_answers_to_visitors_cause_no_warning_because_they_are_text() -> None:
    world, visitor = World(), person("vis_1", "Visitor")
    world.agent(reply_mode="tools")
    world.chat(visitor, COACH, kind="direct", visibility="private")
    for n in range(3):
        world.post(f"Message {n}", visitor)
        world.drain()
    assert world.texts()[-1] == "Hello!"
    assert operator(world).get("/v1/agents/agt_a").body["warnings"] == []


def test_agent_that_called_a_tool_once_has_no_warning() -> None:
    world = group()
    world.model.script.extend([says("Hi"), "done"])
    for n in range(4):
        world.post(f"Message {n}", HUSAM)
        world.drain()
    assert operator(world).get("/v1/agents/agt_a").body["warnings"] == []


def test_superseded_memory_stays_on_record_and_can_be_undone() -> None:
    world = group()
    admin = operator(world)
    old = admin.post(MEMORIES, {"kind": "core", "text": "Ann runs"}).body
    answer = admin.post(f"{MEMORIES}/{old['id']}/supersede", {"text": "Ann swims"})
    assert (answer.status, answer.body["text"], answer.body["kind"]) == (201, "Ann swims", "core")
    assert admin.get(f"{MEMORIES}/{old['id']}").body["superseded_by"] == answer.body["id"]
    again = admin.post(f"{MEMORIES}/{old['id']}/supersede", {"text": "Ann rows"})
    assert (again.status, again.code) == (409, "conflict")
    assert admin.post(f"{MEMORIES}/{old['id']}/restore", {}).status == 200
    assert admin.delete(f"{MEMORIES}/{answer.body['id']}").status == 204
    live = admin.all_pages(MEMORIES, state="live")
    assert [memory["text"] for memory in live] == ["Ann runs"]
