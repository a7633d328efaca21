"""A run that waits for days: who answers, what its prompts say, and who ends it."""

from typing import Any

import pytest

from skein.models.common.reason import Reason
from skein.models.runs.completion import ModelRequest
from tests.support.agents import (
    AHMAD,
    COACH,
    END,
    FREE,
    HUSAM,
    assert_resumed,
    results_of,
    settle,
    slots,
    stage,
)
from tests.support.api_client import WHY, Client, operator
from tests.support.builders import World, statuses
from tests.support.fakes import calls, says

DAYS = 86_400


def _waiting(*script: Any, until: str = "3 days") -> World:
    """Husam has asked something, for which the agent waits in the chat of Ahmad."""
    world = stage(says("When can you come?", wait=True, chat_id="chat_2", until=until), *script)
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", title="Sales")
    world.post("Ask Ahmad", HUSAM)
    settle(world)
    return world


def _section(request: ModelRequest, name: str) -> str:
    prompt = request.messages[0].content
    return prompt.split(f"{name}:\n")[1].split("\n\n")[0] if f"{name}:\n" in prompt else ""


def test_long_wait_costs_nothing_and_ends_with_a_fresh_prompt() -> None:
    world = _waiting(END)
    run = world.runs()[0]
    asked = len(world.model.requests)
    for _ in range(5):
        world.clock.advance(DAYS / 2)
        world.tick()
        world.run_ready()
    assert len(world.model.requests) == asked
    assert world.queues.ready("turns") == ()
    world.clock.advance(DAYS)
    world.tick()
    world.run_ready()
    assert_resumed(world.runs()[0], "timeout", chat_id="chat_2")
    assert "nobody replied" in _section(world.model.requests[-1], "TRIGGER")
    assert world.runs()[0].id == run.id


def test_wait_longer_than_seven_days_is_refused() -> None:
    world = _waiting(END, until="8 days")
    [result] = results_of(world, world.runs()[0])[:1]
    assert result.status == "correctable"
    assert "at most 7 days" in result.content


def test_later_text_starts_its_own_run_and_prompt_shows_the_wait() -> None:
    world = _waiting(END)
    world.clock.advance(DAYS)
    world.post("Good morning", AHMAD, chat_id="chat_2")
    settle(world)
    waiting, [ordinary] = world.runs()[0], world.runs("chat_2")
    assert (waiting.status, ordinary.status) == ("waiting", "done")
    runs = _section(world.model.requests[-1], "ACTIVE RUNS")
    assert 'waiting for a reply by Husam or Ahmad in "Sales" until ' in runs
    assert 'it asked in msg:1: "When can you come?"' in runs


def test_reply_to_the_question_resumes_the_run_after_days() -> None:
    world = _waiting(END)
    world.clock.advance(DAYS)
    world.post("Thursday", AHMAD, chat_id="chat_2", reply_to=1)
    settle(world)
    assert_resumed(world.runs()[0], "reply", 2, chat_id="chat_2")
    assert world.runs()[0].status == "done"


def test_ordinary_run_gives_the_waiting_run_its_answer() -> None:
    world = _waiting(calls(("resume_run", {"reply": 2})), END)
    world.clock.advance(DAYS)
    world.post("Thursday works", AHMAD, chat_id="chat_2")
    settle(world)
    assert_resumed(world.runs()[0], "reply", 2, chat_id="chat_2")
    assert statuses([*world.runs(), *world.runs("chat_2")]) == ["done", "done"]
    assert "Ahmad replied with msg:2" in _section(world.model.requests[-1], "TRIGGER")


@pytest.mark.parametrize("reply", [1, 9])
def test_resume_run_with_invalid_reply_fails(reply: int) -> None:
    world = _waiting(calls(("resume_run", {"reply": reply})))
    world.clock.advance(DAYS)
    world.post("Hm", AHMAD, chat_id="chat_2")
    settle(world)
    assert world.runs()[0].status == "waiting"
    assert results_of(world, world.runs("chat_2")[0])[0].status == "failed"


def test_tool_is_offered_only_where_a_run_waits_for_days() -> None:
    world = _waiting(END, END)
    world.clock.advance(DAYS)
    for chat_id in ("chat_1", "chat_2"):
        world.post("Hello", HUSAM, chat_id=chat_id)
        settle(world)
    offered = [{tool.name for tool in one.tools} for one in world.model.requests]
    assert ["resume_run" in names for names in offered] == [False, False, True]


def test_deferral_after_days_of_waiting_does_not_fail_the_run() -> None:
    world = _waiting(END)
    world.clock.advance(DAYS)
    world.post("Thursday", AHMAD, chat_id="chat_2", reply_to=1)
    run = world.runs()[0]
    assert run.counted_from == world.clock.now()


@pytest.mark.parametrize("who", ["operator", "asker"])
def test_operator_and_asker_end_the_wait(who: str) -> None:
    world = _waiting()
    run, admin = world.runs()[0], operator(world)
    shown = admin.get(f"/v1/runs/{run.id}", reason=WHY).body
    assert shown["waits_until"].startswith(f"{run.wait.until:%Y-%m-%dT%H:%M}" if run.wait else "-")
    if who == "operator":
        assert admin.delete(f"/v1/runs/{run.id}", reason=WHY).body["status"] == "canceled"
        assert admin.delete(f"/v1/runs/{run.id}", reason=WHY).status == 200
    else:
        path = f"/v1/chats/chat_1/runs/{run.id}"
        assert Client(world, sub=AHMAD.id).delete(path).status == 404
        assert Client(world, sub=HUSAM.id).delete(path).status == 204
        assert Client(world, sub=HUSAM.id).delete(path).status == 204
    reason = Reason.STOPPED_BY_OPERATOR if who == "operator" else Reason.STOPPED_BY_ASKER
    assert world.runs()[0].reason == reason
    assert slots(world, chat_id="chat_2") == FREE
