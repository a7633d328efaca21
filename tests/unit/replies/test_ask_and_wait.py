"""Replies that come before they are waited for, and how often a run may wait."""

from collections.abc import Sequence
from typing import Any

import pytest

from skein.errors import Ambiguous
from skein.models.common.storage import Write
from skein.models.runs.completion import ModelRequest
from skein.models.runs.trigger import Resume
from skein.services.runs.policy import MAX_WAITS
from tests.support.agents import (
    AHMAD,
    ASK,
    ASK_SALES,
    COACH,
    DESIGNER,
    END,
    FREE,
    HUSAM,
    actor,
    assert_resumed,
    results_of,
    rival,
    settle,
    slots,
    stage,
    the_run,
    waiting_elsewhere,
    waiting_here,
)
from tests.support.builders import TENANT, World, statuses
from tests.support.fakes import says

# ---------------------------------------------------------------------- replies that come early


def test_reply_during_model_call_resumes_the_run_at_once() -> None:
    world = stage()

    def thinking(_: ModelRequest) -> Any:
        world.post("By the way: yes", HUSAM)
        return ASK

    world.model.script.extend([thinking, says("Published"), END])
    world.chat(HUSAM, COACH)
    world.post("Publish", HUSAM)
    settle(world)
    first, joined = world.runs()
    assert (first.status, first.activation, first.waits, first.attempts) == ("done", 2, 1, 1)
    assert first.resumed == Resume(status="reply", chat_id="chat_1", asked_seq=3, seq=2)
    assert (joined.status, joined.error) == ("canceled", f"joined {first.id}")
    assert world.texts() == ["Publish", "By the way: yes", "Shall I?", "Published"]
    assert slots(world) == FREE


def test_the_first_of_several_early_replies_is_the_one_and_all_are_shown() -> None:
    world = stage()

    def thinking(_: ModelRequest) -> Any:
        world.post("Yes", HUSAM)
        world.post("Or no", AHMAD)
        return ASK

    world.model.script.extend([thinking, END])
    world.chat(HUSAM, AHMAD, COACH)
    world.post("Publish", HUSAM)
    settle(world)
    assert_resumed(world.runs()[0], "reply", 2)
    assert '"Or no"' in world.model.prompt
    assert statuses(world.runs()) == ["done", "canceled"]


def test_a_keyword_that_comes_early_is_no_reply() -> None:
    world = stage()

    def thinking(_: ModelRequest) -> Any:
        world.post("HELP", HUSAM, kind="keyword")
        return ASK

    world.model.script.append(thinking)
    world.chat(HUSAM, COACH)
    world.post("Publish", HUSAM)
    settle(world)
    assert the_run(world).status == "waiting"


def test_messages_shown_before_immediate_resume_count_as_seen() -> None:
    world = stage()

    def thinking(_: ModelRequest) -> Any:
        world.post("Yes", HUSAM)
        return ASK

    world.model.script.extend([thinking, END])
    world.chat(HUSAM, COACH)
    world.post("Publish", HUSAM)
    settle(world)
    [seen] = [line for line in world.model.prompt.splitlines() if "[msg:1 " in line]
    [new] = [line for line in world.model.prompt.splitlines() if "[msg:2 " in line]
    assert "[SEEN]" in seen
    assert "[NEW]" in new


def test_a_reply_that_arrives_as_the_wait_is_being_written_is_found() -> None:
    world = stage(ASK, END)
    world.chat(HUSAM, COACH)
    world.post("Publish", HUSAM)
    world.clock.advance(2)
    rival(world).before = ("MSG#000000000002", lambda: world.post("Yes", HUSAM))
    settle(world)
    first, joined = world.runs()
    assert first.resumed == Resume(status="reply", chat_id="chat_1", asked_seq=3, seq=2)
    assert (first.status, joined.status) == ("done", "canceled")


def test_replies_between_two_waits_are_not_lost() -> None:
    world = waiting_here()

    def thinking(_: ModelRequest) -> Any:
        world.post("And one more", AHMAD)
        return says("Sure?", wait=True)

    world.model.script.extend([thinking, END])
    world.post("Yes", HUSAM)
    settle(world)
    run = world.runs()[0]
    assert (run.status, run.waits, run.activation) == ("done", 2, 3)
    assert '"And one more"' in world.model.prompt


def _answered_early_elsewhere() -> World:
    """Ahmad answers a first message in another chat before the agent asks and waits there."""
    world = stage(says("Ready?", chat_id="chat_2"))

    def thinking(_: ModelRequest) -> Any:
        world.post("Always", AHMAD, chat_id="chat_2")
        return ASK_SALES

    world.model.script.extend([thinking, END])
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2")
    world.post("Pull the numbers", HUSAM)
    settle(world)
    return world


def test_run_waiting_in_another_chat_finds_an_earlier_reply() -> None:
    world = _answered_early_elsewhere()
    run = the_run(world)
    assert_resumed(run, "reply", 2, "chat_2")
    assert run.status == "done"
    assert statuses(world.runs("chat_2")) == ["canceled"]


def test_immediate_resume_in_another_chat_keeps_the_first_chats_seen_mark() -> None:
    world = _answered_early_elsewhere()
    assert world.membership(COACH).seen_seq == 1
    assert world.membership(COACH, "chat_2").seen_seq == 3


def test_reply_to_an_earlier_wait_does_not_end_a_later_one() -> None:
    world = waiting_elsewhere(
        says("Is 42 right?", wait=True, chat_id="chat_1"),
        says("Sure?", wait=True, chat_id="chat_2"),
    )
    world.post("42", HUSAM, chat_id="chat_2")
    settle(world)
    world.post("Ask them again", HUSAM)
    settle(world)
    run = world.runs()[0]
    assert (run.status, run.waits, run.wait_chat_id) == ("waiting", 3, "chat_2")


# ---------------------------------------------------------------------- commits that nobody told of


def _untold(world: World, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The commit of the agent's first message takes effect, and the answer to it is lost.

    Returns:
        Whether that has happened.
    """
    table, told = rival(world), [False]
    transact = table.transact

    def lose_the_answer(writes: Sequence[Write]) -> None:
        transact(writes)
        asks = any(write.key.sk == world.messages()[-1].key.sk for write in writes)
        if asks and not told[0] and world.messages()[-1].sender == COACH:
            told[0] = True
            raise Ambiguous("time-out")

    monkeypatch.setattr(table, "transact", lose_the_answer)
    return told


def test_question_with_a_lost_response_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = stage(ASK, END)
    world.chat(HUSAM, COACH)
    lost = _untold(world, monkeypatch)
    world.post("Publish", HUSAM)
    settle(world)
    assert lost == [True]
    assert the_run(world).status == "waiting"
    world.post("Yes", HUSAM)
    settle(world)
    run = the_run(world)
    assert (run.status, run.waits, world.texts()) == ("done", 1, ["Publish", "Shall I?", "Yes"])


def test_resume_with_a_lost_response_is_taken_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = stage()

    def thinking(_: ModelRequest) -> Any:
        world.post("Yes", HUSAM)
        return ASK

    world.model.script.extend([thinking, END])
    world.chat(HUSAM, COACH)
    lost = _untold(world, monkeypatch)
    world.post("Publish", HUSAM)
    settle(world)
    first = world.runs()[0]
    assert (lost, first.status, first.activation) == ([True], "running", 2)
    world.clock.advance(200)
    world.tick()
    settle(world)
    first = world.runs()[0]
    assert first.resumed == Resume(status="reply", chat_id="chat_1", asked_seq=3, seq=2)
    assert (first.status, world.texts().count("Shall I?")) == ("done", 1)


# ---------------------------------------------------------------------- limits


def test_a_run_waits_at_most_ten_times() -> None:
    world = stage(*[ASK] * (MAX_WAITS + 1), END)
    world.chat(HUSAM, COACH)
    world.post("Publish", HUSAM)
    settle(world)
    for _ in range(MAX_WAITS):
        world.post("Hm", HUSAM)
        settle(world)
    run = the_run(world)
    assert (run.status, run.waits, run.activation) == ("done", MAX_WAITS, MAX_WAITS + 1)
    assert world.model.told == [f"error: a run may wait at most {MAX_WAITS} times"]
    assert results_of(world, run)[-2].status == "failed"


def test_only_one_run_of_an_agent_waits_in_a_chat() -> None:
    world = waiting_here(ASK, END)
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    settle(world)
    first, second = world.runs()
    assert (first.status, second.status) == ("waiting", "done")
    assert world.model.told == ["error: another of your runs already waits in this chat"]
    assert world.texts().count("Shall I?") == 1


def test_one_message_resumes_two_agents_that_wait_in_one_chat() -> None:
    world = stage(ASK, ASK, END, END)
    actor(world, DESIGNER)
    world.chat(HUSAM, COACH, DESIGNER, respond="manual")
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref, agent_id=COACH.id)
    settle(world)
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref, agent_id=DESIGNER.id)
    settle(world)
    assert sorted(statuses(world.runs())) == ["done", "waiting"]
    world.post("Yes", HUSAM)
    settle(world)
    assert statuses(world.runs()) == ["done", "done"]
