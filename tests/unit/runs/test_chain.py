"""Chains of messages among agents end, and an agent that is woken too often pauses."""

from typing import Any

import pytest

from skein.models.common.base import NamedMember
from skein.models.common.storage import Update
from skein.settings import Settings
from tests.support.agents import (
    ASK,
    COACH,
    DESIGNER,
    END,
    FREE,
    HUSAM,
    actor,
    results_of,
    settle,
    slots,
    stage,
    the_run,
)
from tests.support.builders import TENANT, World
from tests.support.fakes import says

# ---------------------------------------------------------------------- how deep


def test_agents_that_answer_each_other_stop_at_the_fifth_message() -> None:
    world = stage()
    world.model.default = "And what do you think?"
    for who in (COACH, DESIGNER):
        actor(world, who, reply_mode="text")
    world.chat(HUSAM, COACH, DESIGNER)
    world.post("Discuss", HUSAM)
    world.drain()
    depths = [message.depth for message in world.messages()]
    assert max(depths) == 5
    assert {run.chain_depth for run in world.runs()} == set(range(5))


def test_message_at_last_depth_starts_no_run_but_answers_a_wait() -> None:
    """Else it would be waited for in vain; what the run says then wakes nobody either."""
    world = stage(ASK, says("I see"), END)
    actor(world, DESIGNER)
    world.chat(HUSAM, COACH, DESIGNER, respond="manual")
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref, agent_id=COACH.id)
    settle(world)
    world.table.write(Update(world.stored_chat().key, set={"respond": "every"}))
    world.post("Yes", DESIGNER, depth=5)
    settle(world)
    run = the_run(world)
    assert (run.status, run.chain_depth) == ("done", 5)
    assert world.messages()[-1].depth == 6
    assert len(world.runs()) == 1


def test_two_agents_that_wait_for_each_other_come_to_an_end() -> None:
    world = stage()
    world.model.default = ASK
    actor(world, DESIGNER)
    world.chat(HUSAM, COACH, DESIGNER)
    world.post("Discuss", HUSAM)
    world.drain(rounds=1_000)
    assert all(run.ended for run in world.runs())
    assert max(run.waits for run in world.runs()) <= 10
    assert (slots(world), slots(world, DESIGNER)) == (FREE, FREE)


@pytest.mark.parametrize(
    ("depth", "question", "people", "waits"),
    [
        (4, "@Designer, figures?", True, False),
        (4, "Figures?", False, False),
        (4, "Figures, Husam?", True, True),
        (4, "@Designer and @Husam, figures?", True, True),
        (3, "@Designer, figures?", True, True),
    ],
)
def test_wait_for_an_agent_that_can_not_be_started_is_refused(
    depth: int, question: str, people: bool, waits: bool
) -> None:
    world = stage(says(question, wait=True), END)
    actor(world, DESIGNER)
    world.chat(*([HUSAM] if people else []), COACH, DESIGNER, visibility="open", respond="mention")
    world.post("@Coach?", DESIGNER, depth=depth)
    settle(world)
    run = next(each for each in world.runs() if each.agent_id == COACH.id)
    assert (run.status == "waiting") is waits
    assert (question in world.texts()) is waits
    if not waits:
        [refused] = results_of(world, run)[:1]
        assert refused.status == "failed"
        assert "starts no other agent" in refused.content


def test_trigger_states_the_chain_depth_of_a_run_that_an_agent_caused() -> None:
    world = stage()
    world.chat(HUSAM, COACH, DESIGNER, respond="mention")
    shown = []
    for depth in (0, 3, 4):
        world.post("@Coach?", DESIGNER if depth else HUSAM, depth=depth)
        settle(world)
        shown.append(world.model.requests[-1].messages[0].content)
    assert "Chain depth" not in shown[0]
    assert "Chain depth 3 of 5.\n" in shown[1]
    assert "Chain depth 4 of 5: your messages start no other agent.\n" in shown[2]


# ---------------------------------------------------------------------- how fast


def _chatty(*agents: NamedMember, **chat: Any) -> World:
    world = stage(settings=Settings(reply_debounce_seconds=0))
    for who in agents:
        actor(world, who)
    world.chat(HUSAM, COACH, DESIGNER, **chat)
    return world


def _woken(world: World, times: int, *, text: str = "Ping") -> int:
    """How many runs of Coach as many messages of Designer start, one after another."""
    before = _runs_of_coach(world)
    for _ in range(times):
        world.post(text, DESIGNER, depth=1)
        world.run_ready()
    return _runs_of_coach(world) - before


def _runs_of_coach(world: World) -> int:
    return sum(run.agent_id == COACH.id for run in world.runs())


def test_agents_start_eight_runs_of_an_agent_in_five_minutes_then_it_pauses() -> None:
    world = _chatty()
    assert _woken(world, 10) == 8
    assert world.membership(COACH).paused
    world.clock.advance(3_600)
    assert _woken(world, 3) == 0


def test_message_of_a_person_ends_the_pause_and_resets_the_count() -> None:
    world = _chatty()
    _woken(world, 9)
    world.post("Go on", HUSAM)
    world.run_ready()
    assert not world.membership(COACH).paused
    assert _woken(world, 10) == 8


def test_message_of_a_person_that_starts_no_run_ends_the_pause() -> None:
    world = _chatty(respond="mention")
    assert _woken(world, 9, text="@Coach") == 8
    world.post("Go on", HUSAM)
    assert _woken(world, 1, text="@Coach") == 1


def test_runs_below_the_rate_are_not_paused() -> None:
    world = _chatty()
    for _ in range(12):
        assert _woken(world, 1) == 1
        world.clock.advance(60)


def test_message_that_joins_a_queued_run_does_not_count_as_wakeup() -> None:
    world = _chatty()
    for _ in range(12):
        world.post("Ping", DESIGNER, depth=1)
    assert len(world.runs()) == 1
    assert len(world.membership(COACH).agent_wakes) == 1
    assert not world.membership(COACH).paused


def test_message_that_resumes_a_run_is_not_counted() -> None:
    world = _chatty()
    world.model.script.append(ASK)
    assert _woken(world, 1) == 1
    world.post("Yes", DESIGNER, depth=2)
    world.run_ready()
    assert len(world.membership(COACH).agent_wakes) == 1


def test_a_pause_does_not_keep_a_question_from_being_answered() -> None:
    world = _chatty()
    _woken(world, 7)
    world.model.script.append(ASK)
    assert _woken(world, 1) == 1
    world.table.write(Update(world.membership(COACH).key, set={"paused": True}))
    world.post("Yes", DESIGNER, depth=2)
    world.run_ready()
    [asked] = [run for run in world.runs() if run.waits]
    assert asked.status == "done"


@pytest.mark.parametrize("respond", ["mention", "manual"])
def test_message_that_starts_no_run_pauses_no_agent(respond: str) -> None:
    world = _chatty(respond=respond)
    assert _woken(world, 10) == 0
    membership = world.membership(COACH)
    assert (membership.paused, membership.agent_wakes) == (False, ())


def test_message_beyond_the_chain_depth_pauses_no_agent() -> None:
    world = _chatty()
    for _ in range(20):
        world.post("Ping", DESIGNER, depth=5)
    assert not world.membership(COACH).paused


def test_the_pause_is_one_chats_and_one_agents() -> None:
    world = _chatty()
    world.chat(HUSAM, COACH, DESIGNER, chat_id="chat_2")
    _woken(world, 9)
    world.post("Ping", DESIGNER, depth=1, chat_id="chat_2")
    assert len(world.runs("chat_2")) == 1
    assert not world.membership(DESIGNER).paused
