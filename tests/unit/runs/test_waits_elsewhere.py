"""Waiting in another chat than the home chat, also when members leave meanwhile."""

from datetime import timedelta
from typing import Any

from skein.models.runs.completion import ModelRequest
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
    asked_by_service,
    assert_resumed,
    live_pointers,
    settle,
    slots,
    stage,
    stored,
    the_run,
    waiting_elsewhere,
    waiting_here,
)
from tests.support.builders import TENANT, statuses
from tests.support.fakes import says

# ---------------------------------------------------------------------- in another chat


def test_other_runs_of_the_home_chat_work_meanwhile() -> None:
    world = waiting_elsewhere(says("Hello again"), END, END)
    waiting = the_run(world)
    assert slots(world) == FREE
    assert slots(world, chat_id="chat_2") == (None, None, (), waiting.id)
    world.post("Are you there?", HUSAM)
    settle(world)
    assert world.texts()[-1] == "Hello again"
    assert statuses(world.runs()) == ["waiting", "done"]


def test_resumed_run_shows_the_chat_of_the_reply() -> None:
    world = waiting_elsewhere(says("Thanks"), END)
    world.post("42", AHMAD, chat_id="chat_2")
    settle(world)
    run = the_run(world)
    assert_resumed(run, "reply", 2, "chat_2")
    assert run.status == "done"
    assert world.texts("chat_2") == ["Figures?", "42", "Thanks"]
    assert world.runs("chat_2") == []
    assert world.membership(COACH, "chat_2").seen_seq == 2
    assert (slots(world), slots(world, chat_id="chat_2")) == (FREE, FREE)


def test_reply_elsewhere_resumes_after_the_running_run_at_home() -> None:
    world = waiting_elsewhere()
    waiting = the_run(world)

    def busy(_: ModelRequest) -> Any:
        world.post("42", AHMAD, chat_id="chat_2")
        world.clock.advance(2)
        assert world.queues.ready("turns") == ()
        assert slots(world)[2] == (waiting.id,)
        return END

    world.model.script.append(busy)
    world.post("Are you there?", HUSAM)
    settle(world)
    assert statuses(world.runs()) == ["done", "done"]
    assert slots(world) == FREE


def test_the_home_chats_queued_run_is_not_swallowed_by_one_that_looks_elsewhere() -> None:
    world = waiting_elsewhere()
    waiting = the_run(world)

    def busy(_: ModelRequest) -> Any:
        world.post("Two", HUSAM)
        world.post("42", AHMAD, chat_id="chat_2")
        world.post("Three", HUSAM)
        return says("To one")

    world.model.script.extend([busy, says("Thanks", chat_id="chat_2"), END])
    world.model.script.append(says("To two and three"))
    world.post("One", HUSAM)
    settle(world)
    assert world.texts() == [
        "Pull the numbers",
        *("One", "Two", "Three", "To one", "To two and three"),
    ]
    assert world.texts("chat_2")[-1] == "Thanks"
    assert stored(world, waiting).status == "done"
    assert statuses(world.runs()) == ["done", "done", "done"]


def test_two_runs_that_resume_at_once_both_continue() -> None:
    world = waiting_elsewhere(says("Sure?", wait=True, chat_id="chat_3"))
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_3")
    world.post("And ask the others", HUSAM)
    settle(world)
    first, second = world.runs()
    assert statuses([first, second]) == ["waiting", "waiting"]
    world.post("42", AHMAD, chat_id="chat_2")
    world.post("43", AHMAD, chat_id="chat_3")
    assert slots(world)[2] == (first.id, second.id)
    settle(world)
    assert statuses(world.runs()) == ["done", "done"]
    assert_resumed(world.runs()[0], "reply", 2, "chat_2")
    assert_resumed(world.runs()[1], "reply", 2, "chat_3")
    assert slots(world) == FREE


def test_burst_in_waited_chat_is_answered_by_the_resumed_run() -> None:
    world = waiting_elsewhere(says("Thanks"), END)
    for text in ("42", "no, 43"):
        world.post(text, AHMAD, chat_id="chat_2")
    settle(world)
    assert statuses(world.runs("chat_2")) == ["canceled"]
    assert world.texts("chat_2") == ["Figures?", "42", "no, 43", "Thanks"]
    assert slots(world, chat_id="chat_2") == FREE


def test_wait_in_another_chat_times_out() -> None:
    world = waiting_elsewhere(END)
    world.clock.advance(WAIT_SECONDS)
    world.run_ready()
    assert_resumed(the_run(world), "timeout", None, "chat_2")
    assert the_run(world).status == "done"
    assert (slots(world), slots(world, chat_id="chat_2")) == (FREE, FREE)


def test_a_run_without_a_chat_waits_in_one_and_needs_no_slot() -> None:
    world = stage(says("Figures?", wait=True, chat_id="chat_1"), says("Thanks"), END)
    world.chat(HUSAM, COACH)
    run = asked_by_service(world)
    settle(world)
    assert stored(world, run).status == "waiting"
    assert slots(world) == (None, None, (), run.id)
    world.post("42", HUSAM)
    settle(world)
    assert stored(world, run).status == "done"
    assert world.runs() == []
    assert world.texts() == ["Figures?", "42", "Thanks"]
    assert slots(world) == FREE
    assert live_pointers(world) == 0


def test_a_run_without_a_chat_times_out_too() -> None:
    world = stage(says("Figures?", wait=True, chat_id="chat_1"), END)
    world.chat(HUSAM, COACH)
    run = asked_by_service(world)
    settle(world)
    world.clock.advance(WAIT_SECONDS)
    world.run_ready()
    assert stored(world, run).status == "done"
    assert live_pointers(world) == 0


def test_a_text_answers_in_the_chat_that_was_shown() -> None:
    world = waiting_elsewhere("Thanks, Ahmad", reply_mode="text")
    world.post("42", AHMAD, chat_id="chat_2")
    settle(world)
    assert world.texts("chat_2")[-1] == "Thanks, Ahmad"
    assert world.texts() == ["Pull the numbers"]


# ---------------------------------------------------------------------- when somebody leaves


def test_leave_of_waited_chat_resumes_the_run_at_home() -> None:
    world = waiting_elsewhere(says("I had to leave"), END)
    world.app.chat_admin.remove_member(TENANT, "chat_2", HUSAM.ref, COACH.ref)
    settle(world)
    run = the_run(world)
    assert_resumed(run, "timeout", None, "chat_2")
    assert (run.status, world.texts()[-1]) == ("done", "I had to leave")
    world.post("42", AHMAD, chat_id="chat_2")
    assert (slots(world), slots(world, chat_id="chat_2")) == (FREE, FREE)


def test_an_agent_that_leaves_its_home_while_it_waits_there_is_done() -> None:
    world = waiting_here()
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    settle(world)
    run = the_run(world)
    assert (run.status, run.error) == ("canceled", "the agent has left the chat")
    assert slots(world) == FREE
    world.post("Yes", HUSAM)
    assert world.texts()[-1] == "Yes"
    assert len(world.model.requests) == 1


def test_agent_that_rejoins_has_no_wait() -> None:
    world = waiting_here()
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    settle(world)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, COACH.ref)
    world.post("Yes", HUSAM)
    settle(world)
    assert statuses(world.runs()) == ["canceled", "done"]


def test_reply_elsewhere_after_leaving_the_home_chat_cancels_the_run() -> None:
    world = waiting_elsewhere()
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    world.post("42", AHMAD, chat_id="chat_2")
    settle(world)
    assert the_run(world).status == "canceled"
    assert slots(world, chat_id="chat_2") == FREE


def test_discard_of_waited_chat_resumes_the_waiting_runs() -> None:
    world = waiting_elsewhere(says("They are gone"), END)
    world.app.chat_admin.discard(TENANT, "chat_2", HUSAM.ref)
    settle(world)
    assert the_run(world).status == "done"
    assert world.texts()[-1] == "They are gone"
    assert slots(world, chat_id="chat_2") == FREE


def test_a_discarded_home_ends_the_run_that_waits_in_it() -> None:
    world = waiting_here()
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    settle(world)
    run = the_run(world)
    assert (run.status, run.error) == ("canceled", "the chat is discarded")
    assert slots(world) == FREE


def test_chain_continues_after_a_waiting_agent_left() -> None:
    world = stage(ASK)
    actor(world, DESIGNER)
    world.chat(HUSAM, COACH, DESIGNER, respond="manual")
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    settle(world)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    settle(world)
    by_agent = {run.agent_id: run.status for run in world.runs()}
    assert by_agent == {COACH.id: "canceled", DESIGNER.id: "done"}


def test_a_deleted_agents_wait_ends_with_its_time() -> None:
    world = waiting_here()
    world.app.agents.delete(TENANT, COACH.id)
    world.clock.advance(WAIT_SECONDS)
    world.run_ready()
    run = the_run(world)
    assert (run.status, run.error) == ("canceled", "agent not found")
    assert slots(world) == FREE


def test_nothing_is_left_due_once_a_run_that_waited_is_done() -> None:
    world = waiting_elsewhere(says("Thanks"), END)
    world.post("42", AHMAD, chat_id="chat_2")
    settle(world)
    world.drain()
    for _ in range(2):  # looks whether anything derived from the chats has fallen behind
        world.clock.set(world.clock.now() + timedelta(days=1))
        world.tick()
        world.drain()
    assert world.tick() == 0
