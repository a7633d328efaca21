"""Operators inspect a run, and replay its prompt with edits."""

from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.common.prompt_sections import SECTIONS
from skein.models.common.storage import Put, Update
from skein.models.runs.step import Step
from skein.settings import Settings
from tests.support.api_client import Answer, everything, operator
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import Script, ScriptedModel, calls, says

HUSAM, COACH = person(), bot()
PRICES = {"currency": "EUR", "models": {"scripted": {"input": 1, "output": 2}}}


def told(*script: Script, settings: Settings | None = None) -> World:
    """A group in which the agent has answered one message."""
    world = World(settings or Settings(), model=ScriptedModel.saying(says("Ten km"), "done"))
    world.agent(system_prompt="You coach runners.")
    world.chat(HUSAM, COACH, kind="group")
    world.post("How far today?", HUSAM)
    world.drain()
    world.model.script.extend(script)
    return world


def words(world: World) -> str:
    return "\n".join(message.content for message in world.model.requests[-1].messages)


def replay(world: World, body: dict[str, Any] | None = None, run_id: str | None = None) -> Answer:
    return operator(world).post(f"/v1/runs/{run_id or world.runs()[0].id}/replay", body or {})


def test_replay_with_a_new_system_prompt_asks_the_model_with_it() -> None:
    world = told("Five km")
    answer = replay(world, {"system_prompt": "You coach swimmers."})
    assert answer.status == 200, answer.body
    assert (answer.body["text"], answer.body["tool_calls"]) == ("Five km", [])
    asked = words(world)
    assert "You coach swimmers." in asked
    assert "You coach runners." not in asked
    assert "How far today?" in asked


def test_replay_with_an_edited_section_sends_its_text() -> None:
    world = told("Fine")
    answer = replay(world, {"sections": {"TRIGGER": "TRIGGER: A bird sang."}})
    assert answer.status == 200, answer.body
    assert "TRIGGER: A bird sang." in words(world)


def test_replay_with_a_system_prompt_and_sections_sends_all_edits() -> None:
    world = told("Fine")
    sections = {"TRIGGER": "TRIGGER: A bird sang.", "NOW": "NOW: It is noon."}
    answer = replay(world, {"system_prompt": "You coach swimmers.", "sections": sections})
    assert answer.status == 200, answer.body
    asked = words(world)
    assert all(text in asked for text in ("You coach swimmers.", *sections.values()))


def test_replay_with_a_system_prompt_and_identity_is_refused() -> None:
    world = told()
    answer = replay(world, {"system_prompt": "You coach.", "sections": {"IDENTITY": "IDENTITY: x"}})
    assert (answer.status, answer.code) == (422, "unprocessable")
    assert len(world.model.requests) == 2


def test_replay_returns_tool_calls_and_carries_out_none() -> None:
    world = told(calls(("send_message", {"text": "Again"}), ("read_messages", {"chat_id": "c"})))
    before = everything(world)
    answer = replay(world)
    assert [call["name"] for call in answer.body["tool_calls"]] == ["send_message", "read_messages"]
    after = everything(world)
    changed = {key.pk for key in after if before.get(key) != after[key]}
    assert before.keys() <= after.keys()
    assert {pk.split("#")[1] for pk in changed} == {"USAGE", "LIMIT"}


def test_replay_is_audited_and_charged_to_the_tenant_alone() -> None:
    world = told("Five km", settings=Settings(tenant_tokens_per_day=1_000_000))
    before = operator(world).get("/v1/usage", by="user").body["total"]["calls"]
    calls_before = operator(world).get("/v1/usage", by="agent").body["total"]["calls"]
    replay(world)
    entry = operator(world).get("/v1/audit").body["items"][0]
    assert (entry["verb"], entry["kind"]) == ("create", "replay")
    assert entry["ids"] == {"run_id": world.runs()[0].id}
    assert operator(world).get("/v1/usage", by="user").body["total"]["calls"] == before
    assert operator(world).get("/v1/usage", by="agent").body["total"]["calls"] == calls_before + 1


def test_replay_over_the_operators_rate_limit_is_refused() -> None:
    world = told("One", "Two", settings=Settings(user_messages_per_minute=1))
    assert replay(world).status == 200
    answer = replay(world)
    assert (answer.status, answer.code) == (429, "rate_limited")


def test_replay_of_an_erased_prompt_is_refused() -> None:
    world = told()
    run = world.runs()[0]
    for n in range(1, run.steps_taken + 1):
        item = world.table.get(Step.key_of(TENANT, run.id, n))
        assert item is not None
        step = Step.from_item(item).model_copy(update={"prompt": None})
        world.table.write(Put(step.key, step.to_item()))
    answer = replay(world)
    assert (answer.status, answer.code) == (409, "conflict")
    assert "erased or has expired" in answer.body["detail"]
    assert len(world.model.requests) == 2


def test_replay_of_an_expired_or_unknown_run_is_not_found() -> None:
    world = told()
    run = world.runs()[0]
    world.table.write(Update(run.key, set={"expires_at": int(world.clock.now().timestamp()) + 60}))
    world.clock.advance(61)
    assert replay(world, run_id=run.id).status == 404
    assert replay(world, run_id="run_1_chat_1").status == 404
    assert len(world.model.requests) == 2


@pytest.mark.parametrize("name", ["GOALS", "NONSENSE"])
def test_replay_with_a_section_that_is_not_in_the_prompt_is_refused(name: str) -> None:
    answer = replay(told(), {"sections": {name: "text"}})
    assert answer.status == 422
    assert answer.body["details"]["sections"] == [name]


def test_replay_with_too_many_tokens_is_refused_before_the_model_is_asked() -> None:
    world = told()
    answer = replay(world, {"sections": {"TRIGGER": "word " * 39_000}})
    assert answer.status == 422
    assert len(world.model.requests) == 2


def test_replay_while_the_model_is_out_of_reach_answers_503_and_charges_nothing() -> None:
    world = told(Unavailable("down"))
    before = operator(world).get("/v1/usage").body["answers"]
    assert replay(world).status == 503
    assert operator(world).get("/v1/usage").body["answers"] == before


# ---------------------------------------------------------------------- inspection


def test_run_shows_the_money_of_its_steps_and_the_run_before() -> None:
    world = told(says("Five km"), "done")
    operator(world).patch("/v1/settings", {"prices": PRICES})
    world.post("And tomorrow?", HUSAM)
    world.drain()
    first, second = sorted(world.runs(), key=lambda run: run.created_at)
    body = operator(world).get(f"/v1/runs/{second.id}").body
    assert body["previous_run_id"] == first.id
    assert body["money"]["currency"] == "EUR"
    assert len(body["steps"]) == 2
    assert all(step["money"] is not None for step in body["steps"])
    assert body["held"]["chat_id"] == "chat_1"
    assert operator(world).get(f"/v1/runs/{first.id}").body["previous_run_id"] is None


def test_every_section_of_a_run_has_a_source_and_why_it_may_be_shown() -> None:
    world = told()
    body = operator(world).get(f"/v1/runs/{world.runs()[0].id}").body
    sections = body["prompt"]["sections"]
    assert {section["name"] for section in sections} <= SECTIONS.keys()
    assert all(section["source"] and section["may_be_shown"] for section in sections)


def test_cached_tokens_fill_the_sections_from_the_first_on() -> None:
    world = told()
    run = world.runs()[0]
    item = world.table.get(Step.key_of(TENANT, run.id, 1))
    assert item is not None
    step = Step.from_item(item)
    prompt = operator(world).get(f"/v1/runs/{run.id}").body["prompt"]
    identity, second = prompt["sections"][:2]
    tools = 500
    usage = step.usage.model_copy(
        update={
            "input_tokens": prompt["total_tokens"] + tools,
            "cached_tokens": tools + identity["tokens"] + 3,
        }
    )
    changed = step.model_copy(update={"usage": usage})
    world.table.write(Put(changed.key, changed.to_item()))
    shown = operator(world).get(f"/v1/runs/{run.id}").body["prompt"]
    cached = [section["cached_tokens"] for section in shown["sections"]]
    assert cached[:3] == [identity["tokens"], min(3, second["tokens"]), 0]
    assert 0 < shown["cached_share"] < 1


def test_message_of_an_agent_leads_operators_to_its_run() -> None:
    world = told()
    answer = operator(world).get("/v1/chats/chat_1/messages/2/reasons")
    assert answer.body["run_id"] == world.runs()[0].id
    assert operator(world).get("/v1/chats/chat_1/messages/1/reasons").body["run_id"] is None
