"""Chatter among agents ends, and no agent works at more than it may."""

from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.common.base import NamedMember
from skein.models.common.reason import Reason
from skein.models.common.storage import Update
from skein.models.runs.completion import ModelRequest
from skein.services.runs.concurrency_limit import ConcurrencyLimit
from skein.settings import Settings
from tests.support.agents import (
    ASK,
    COACH,
    DESIGNER,
    END,
    FREE,
    HUSAM,
    actor,
    asked_by_service,
    job_of,
    settle,
    slots,
    stage,
    stored,
    the_run,
)
from tests.support.builders import INVOCATION, TENANT, World
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
    world.app.respond.now(TENANT, "chat_1", HUSAM.ref, agent_id=COACH.id)
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
    assert _woken(world, 20) == 8
    assert world.membership(COACH).paused
    world.clock.advance(3_600)
    assert _woken(world, 3) == 0


def test_message_of_a_person_ends_the_pause_and_resets_the_count() -> None:
    world = _chatty()
    _woken(world, 9)
    world.post("Go on", HUSAM)
    world.run_ready()
    assert not world.membership(COACH).paused
    assert _woken(world, 20) == 8


def test_message_of_a_person_that_starts_no_run_ends_the_pause() -> None:
    world = _chatty(respond="mention")
    assert _woken(world, 9, text="@Coach") == 8
    world.post("Go on", HUSAM)
    assert _woken(world, 1, text="@Coach") == 1


def test_runs_below_the_rate_are_not_paused() -> None:
    world = _chatty()
    for _ in range(20):
        assert _woken(world, 1) == 1
        world.clock.advance(60)


def test_a_message_that_only_widens_a_queued_run_counts_as_none() -> None:
    world = _chatty()
    for _ in range(30):
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
    assert _woken(world, 20) == 0
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


# ---------------------------------------------------------------------- how much at once


def _busy_chats(count: int, **agent: Any) -> World:
    world = stage(**agent)
    for number in range(1, count + 1):
        world.chat(HUSAM, COACH, chat_id=f"chat_{number}")
        world.post("Hello", HUSAM, chat_id=f"chat_{number}")
    world.clock.advance(2)
    world.queues.ready("turns")
    return world


def _permits(world: World) -> dict[str, str]:
    item = world.table.get(ConcurrencyLimit.key_of(TENANT, COACH.id)) or {}
    return dict(item.get("held", {}))


def test_without_a_limit_no_permit_is_ever_written() -> None:
    world = _busy_chats(3)
    for number in (1, 2, 3):
        world.take(job_of(the_run(world, chat_id=f"chat_{number}")))
    assert world.table.get(ConcurrencyLimit.key_of(TENANT, COACH.id)) is None


def test_run_over_the_concurrency_limit_is_deferred_without_an_attempt() -> None:
    world = _busy_chats(2, max_concurrent_runs=1)
    second = the_run(world, chat_id="chat_2")

    def meanwhile(_: ModelRequest) -> Any:
        world.take(job_of(second))
        late = stored(world, second)
        assert (late.attempts, late.put_offs, late.steps_taken) == (0, 1, 0)
        assert late.error == "1 runs of this agent are already running"
        return END

    world.model.script.append(meanwhile)
    world.take(job_of(the_run(world)))
    assert _permits(world) == {}
    world.drain()
    late = stored(world, second)
    assert (late.status, late.attempts) == ("done", 1)


def test_the_agents_own_limit_goes_before_the_deployments() -> None:
    world = stage(settings=Settings(max_concurrent_runs=1), max_concurrent_runs=2)
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2")
    world.post("Hello", HUSAM)
    world.post("Hello", HUSAM, chat_id="chat_2")
    second = the_run(world, chat_id="chat_2")

    def meanwhile(_: ModelRequest) -> Any:
        world.take(job_of(second))
        assert stored(world, second).status == "done"
        return END

    world.model.script.append(meanwhile)
    world.take(job_of(the_run(world)))


def test_deferred_run_tries_again_within_30_seconds() -> None:
    world = _busy_chats(1, max_concurrent_runs=1)
    other = asked_by_service(world)
    assert world.app.turns  # the other run's worker holds the permit and never comes back
    lease = world.clock.now() + timedelta(hours=1)
    assert ConcurrencyLimit(table=world.table, clock=world.clock).take(other, 1, until=lease)
    world.queues.ready("turns")
    for _ in range(8):
        world.take(job_of(the_run(world)))
        [again] = world.queues.waiting("turns")
        assert again.due_at - world.clock.now() <= timedelta(seconds=30)
        world.clock.set(again.due_at)
        world.queues.ready("turns")
    assert the_run(world).attempts == 0


@pytest.mark.parametrize("how", ["wait", "bug", "model down"])
def test_a_run_that_does_not_work_holds_no_permit(how: str) -> None:
    script: dict[str, Any] = {
        "wait": ASK,
        "bug": RuntimeError("a bug"),
        "model down": Unavailable("503"),
    }
    world = _busy_chats(1, max_concurrent_runs=1)
    world.model.script.append(script[how])
    world.take(job_of(the_run(world)))
    assert not the_run(world).ended
    assert _permits(world) == {}


def test_a_dead_workers_permit_lapses_with_its_lease() -> None:
    world = _busy_chats(2, max_concurrent_runs=1)
    first = the_run(world)
    dead = ConcurrencyLimit(table=world.table, clock=world.clock)
    assert dead.take(first, 1, until=world.clock.now() + INVOCATION)
    world.take(job_of(the_run(world, chat_id="chat_2")))
    assert the_run(world, chat_id="chat_2").status == "running"
    world.clock.advance(121)
    world.drain()
    assert the_run(world, chat_id="chat_2").status == "done"


def test_a_stopped_runs_permit_is_free_as_soon_as_its_worker_notices() -> None:
    world = _busy_chats(1, max_concurrent_runs=1)

    def stopped(_: ModelRequest) -> Any:
        world.app.completion.cancel(the_run(world), reason=Reason.STOPPED_BY_AGENT, error="stopped")
        return END

    world.model.script.append(stopped)
    world.take(job_of(the_run(world)))
    assert the_run(world).status == "canceled"
    assert _permits(world) == {}


def test_permits_never_exceed_the_limit_however_they_cross() -> None:
    world = stage()
    concurrency_limit = ConcurrencyLimit(table=world.table, clock=world.clock)
    world.chat(HUSAM, COACH)
    runs = [asked_by_service(world, str(number)) for number in range(6)]
    until = world.clock.now() + INVOCATION
    assert [concurrency_limit.take(run, 4, until=until) for run in runs] == [True] * 4 + [False] * 2
    assert concurrency_limit.take(runs[0], 4, until=until)
    concurrency_limit.give_back(runs[1])
    concurrency_limit.give_back(runs[1])
    concurrency_limit.give_back(runs[5])
    assert concurrency_limit.take(runs[5], 4, until=until)
    assert len(_permits(world)) == 4
