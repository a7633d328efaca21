"""A run that asks and waits: replies, timeouts, and races between the two."""

from collections.abc import Callable
from typing import Any

import pytest

from skein.models.common.storage import Update
from skein.models.runs.completion import ModelRequest
from skein.services.runs.claim import Claim
from skein.services.runs.policy import WAIT_SECONDS
from tests.support.agents import (
    AHMAD,
    ASK,
    COACH,
    DESIGNER,
    END,
    FREE,
    HUSAM,
    actor,
    assert_resumed,
    job_of,
    rival,
    settle,
    slots,
    stage,
    stored,
    the_run,
    waiting_here,
)
from tests.support.builders import INVOCATION, TENANT, World, statuses
from tests.support.fakes import says

# ---------------------------------------------------------------------- the wait itself


def test_waiting_run_holds_no_slot_and_has_seen_its_messages() -> None:
    world = waiting_here()
    run = the_run(world)
    assert (run.status, run.waits, run.lease_until) == ("waiting", 1, None)
    assert slots(world) == (None, None, (), run.id)
    assert world.membership(COACH).seen_seq == 1
    assert world.messages()[1].expects_reply


def test_waiting_run_is_not_resumed_before_its_timeout() -> None:
    world = waiting_here()
    asked = len(world.model.requests)
    for _ in range(4):
        world.clock.advance(WAIT_SECONDS / 5)
        world.tick()
        world.run_ready()
        world.take(job_of(the_run(world)))
    assert the_run(world).status == "waiting"
    assert len(world.model.requests) == asked


# ---------------------------------------------------------------------- a reply


@pytest.mark.parametrize("who", [HUSAM, AHMAD])
def test_first_message_of_another_member_resumes_the_run(who: Any) -> None:
    world = waiting_here(says("Published"), END)
    world.post("Yes", who)
    settle(world)
    run = the_run(world)
    assert_resumed(run, "reply", 3)
    assert (run.status, run.activation, run.attempts, run.steps_taken) == ("done", 2, 1, 2)
    assert world.texts() == ["Publish", "Shall I?", "Yes", "Published"]
    assert slots(world) == FREE


def test_an_agents_message_is_a_reply_as_well() -> None:
    world = waiting_here(says("Published"), END)
    actor(world, DESIGNER)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, DESIGNER.ref)
    world.post("Yes", DESIGNER, depth=1)
    settle(world)
    run = next(run for run in world.runs() if run.agent_id == COACH.id)
    assert_resumed(run, "reply", 3)
    assert run.chain_depth == 1


def test_message_with_reply_to_the_question_resumes_the_run() -> None:
    world = waiting_here(END)
    world.post("Yes", AHMAD, reply_to=2)
    settle(world)
    assert_resumed(the_run(world), "reply", 3)


@pytest.mark.parametrize("kind", ["keyword", "notice"])
def test_keywords_and_notices_are_no_replies(kind: str) -> None:
    world = waiting_here(END)
    world.post("START", HUSAM, kind=kind)
    settle(world)
    assert the_run(world).status == "waiting"


def test_message_of_the_waiting_agent_is_not_a_reply() -> None:
    world = waiting_here(END)
    world.post("Hm", COACH)
    settle(world)
    assert the_run(world).status == "waiting"


def test_member_who_cannot_start_runs_can_answer_a_wait() -> None:
    world = stage(ASK, END)
    world.chat(HUSAM, COACH, respond="manual")
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    settle(world)
    world.post("Yes", HUSAM)
    settle(world)
    assert the_run(world).status == "done"


def test_a_reply_starts_no_second_run_and_later_ones_of_the_burst_neither() -> None:
    world = waiting_here(says("Published"), END)
    for text in ("Yes", "but", "tomorrow"):
        world.post(text, HUSAM)
    settle(world)
    first, *joined = world.runs()
    assert first.status == "done"
    assert statuses(joined) == ["canceled"]
    assert joined[0].error == f"joined {first.id}"
    assert world.model.requests[1].messages[0].content.count('"tomorrow"') == 1
    assert world.membership(COACH).seen_seq == 5


def test_queued_run_does_not_overtake_a_resuming_run() -> None:
    world = waiting_here(END)
    world.post("Yes", HUSAM)
    world.post("Quickly", HUSAM)
    first, second = world.runs()
    world.take(job_of(second))
    assert stored(world, second).attempts == 0
    world.take(job_of(first))
    assert statuses(world.runs()) == ["done", "canceled"]


def test_a_message_during_the_resumed_activation_is_a_run_of_its_own() -> None:
    world = waiting_here()

    def busy(_: ModelRequest) -> Any:
        world.post("One more thing", HUSAM)
        return END

    world.model.script.append(busy)
    world.post("Yes", HUSAM)
    settle(world)
    assert statuses(world.runs()) == ["done", "done"]


def test_the_resumed_prompt_shows_the_question_the_reply_and_the_arrow() -> None:
    world = waiting_here(END)
    world.post("Yes", AHMAD)
    settle(world)
    assert len(world.model.requests[-1].messages) == 2
    lines = world.model.prompt.splitlines()
    [asked] = [line for line in lines if "[msg:2 " in line]
    [answered] = [line for line in lines if "[msg:3 " in line]
    assert "You" in asked
    assert '"Shall I?"' in asked
    assert answered.endswith("[NEW] \u2190 RESUME")
    told = "  You then asked msg:2 and waited. Ahmad replied with msg:3. Continue from there."
    assert told in lines


def test_a_reply_by_a_person_brings_the_chain_back_to_its_beginning() -> None:
    world = waiting_here()
    world.table.write(Update(the_run(world).key, set={"chain_depth": 4}))
    world.post("Yes", HUSAM)
    assert the_run(world).chain_depth == 0


# ---------------------------------------------------------------------- no reply


def test_delayed_job_resumes_the_run_with_timeout_after_its_wait() -> None:
    world = waiting_here(says("Never mind"), END)
    world.clock.advance(WAIT_SECONDS)
    world.run_ready()
    run = the_run(world)
    assert_resumed(run, "timeout")
    assert run.status == "done"
    assert (
        "The wait ended with a timeout: nobody replied."
        in world.model.requests[1].messages[0].content
    )
    assert world.texts()[-1] == "Never mind"
    assert slots(world) == FREE


def test_tick_resumes_wait_whose_delayed_job_was_lost() -> None:
    world = waiting_here(END)
    world.clock.advance(WAIT_SECONDS + 5)
    world.queues.ready("turns")
    world.tick()
    assert world.queues.ready("turns") == ()
    world.clock.advance(60)
    world.tick()
    world.run_ready()
    assert_resumed(the_run(world), "timeout")


def test_a_message_after_the_time_out_is_answered_by_a_run_of_its_own() -> None:
    world = waiting_here(END)
    world.clock.advance(WAIT_SECONDS)
    world.run_ready()
    world.post("Sorry, yes", HUSAM)
    settle(world)
    assert statuses(world.runs()) == ["done", "done"]


def test_the_job_of_an_earlier_wait_does_not_end_a_later_one() -> None:
    world = waiting_here(says("Sure?", wait=True), END)
    world.clock.advance(WAIT_SECONDS - 100)
    world.post("Yes", HUSAM)
    settle(world)
    assert the_run(world).waits == 2
    world.clock.advance(110)
    world.run_ready()
    assert the_run(world).status == "waiting"
    world.clock.advance(WAIT_SECONDS - 100)
    world.run_ready()
    assert_resumed(the_run(world), "timeout")


# ---------------------------------------------------------------------- both at once


def _time_out(world: World) -> Claim | None:
    lease = world.clock.now() + INVOCATION
    return world.app.leases.claim(job_of(world.runs()[0]), lease_until=lease)


def _late(world: World) -> None:
    world.queues.ready("turns")
    world.clock.advance(WAIT_SECONDS)


@pytest.mark.parametrize("first", ["reply", "timeout"])
def test_first_of_reply_and_timeout_resumes_the_run(first: str) -> None:
    world = waiting_here()
    _late(world)
    acts: list[Callable[[], object]] = [
        lambda: world.post("Yes", HUSAM),
        lambda: _time_out(world),
    ]
    for act in acts if first == "reply" else reversed(acts):
        act()
    run = world.runs()[0]
    assert_resumed(run, first, 3 if first == "reply" else None)
    assert (run.status, run.activation, run.wait) == ("running", 2, None)
    others = world.runs()[1:]
    assert statuses(others) == ([] if first == "reply" else ["queued"])


def test_a_reply_that_comes_while_the_time_out_is_being_written_wins() -> None:
    world = waiting_here()
    _late(world)
    rival(world).before = ("RUN#", lambda: world.post("Yes", HUSAM))
    claim = _time_out(world)
    assert claim is not None
    assert_resumed(claim.run, "reply", 3)
    assert len(world.runs()) == 1


def test_a_time_out_that_comes_while_the_reply_is_being_written_wins() -> None:
    world = waiting_here()
    _late(world)
    rival(world).before = ("MSG#", lambda: _time_out(world))
    world.post("Yes", HUSAM)
    first, second = world.runs()
    assert_resumed(first, "timeout")
    assert (first.status, second.status) == ("running", "queued")
    assert second.trigger.seq == 3


def test_two_concurrent_replies_resume_the_run_once() -> None:
    world = waiting_here(END)
    rival(world).before = ("MSG#", lambda: world.post("Yes", AHMAD))
    world.post("No", HUSAM)
    settle(world)
    first, second = world.runs()
    assert_resumed(first, "reply", 3)
    assert world.texts()[2:] == ["Yes", "No"]
    assert (first.status, second.status) == ("done", "canceled")
    assert '"No"' in world.model.prompt
