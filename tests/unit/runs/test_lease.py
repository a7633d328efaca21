"""Claims of runs under a lease, their attempts and deferrals, and the races between workers."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Ambiguous, LostLease, ModelRejected, Unavailable
from skein.models.common.reason import Reason
from skein.models.common.storage import Update, Write
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.usage import DayUsage
from skein.models.runs.completion import ModelRequest
from skein.services.runs.claim import Claim
from skein.services.runs.policy import DEFERRALS
from skein.settings import Settings
from tests.support.builders import TENANT, World, bot, person, statuses
from tests.support.fakes import Calls, MeanwhileTable, ScriptedModel, calls

HUSAM = person()
COACH = bot()


def _world(*script: Any, settings: Settings | None = None, **fields: Any) -> World:
    world = World(settings or Settings(), ScriptedModel.saying(*script, default="Hello!"), **fields)
    world.agent()
    world.chat(HUSAM, COACH)
    return world


def _job(world: World, position: int = 0) -> RunJob:
    run = world.runs()[position]
    return run.job


def _claim(world: World, position: int = 0) -> Claim | None:
    lease = world.clock.now() + timedelta(seconds=122)
    return world.app.leases.claim(_job(world, position), lease_until=lease)


def _racing(*script: Any) -> tuple[World, MeanwhileTable]:
    world = World(model=ScriptedModel.saying(*script, default="Hello!"))
    table = MeanwhileTable()
    world = World(model=world.model, overrides={"table": table})
    world.table = table
    world.agent()
    world.chat(HUSAM, COACH)
    return world, table


# ---------------------------------------------------------------------- the plain life


def test_a_message_is_answered_and_the_run_is_done() -> None:
    world = _world("Hi Husam!")
    world.post("Hello", HUSAM)
    world.drain()
    assert world.texts() == ["Hello", "Hi Husam!"]
    [run] = world.runs()
    assert (run.status, run.attempts, run.usage.input_tokens) == ("done", 1, 10)
    member = world.membership(COACH)
    assert (member.running_run, member.queued_run, member.seen_seq) == (None, None, 1)
    used = DayUsage(day=world.clock.now().date(), answers=1, input_tokens=10, output_tokens=5)
    assert world.app.usage.of_day(TENANT) == used


def test_ended_run_leaves_no_due_work() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    world.drain()
    world.clock.advance(24 * 3600)
    world.tick()  # looks whether anything derived from the chat has fallen behind
    world.drain()
    world.clock.advance(24 * 3600)
    assert world.tick() == 0


@pytest.mark.parametrize("silence", ["[silence]", " [Silence] ", "[Silence]."])
def test_no_reply_posts_nothing_and_moves_the_seen_watermark(silence: str) -> None:
    world = _world(silence)
    world.post("Just so you know", HUSAM)
    world.drain()
    assert world.texts() == ["Just so you know"]
    assert statuses(world.runs()) == ["done"]
    assert world.membership(COACH).seen_seq == 1


# ---------------------------------------------------------------------- one running, one queued


def test_a_burst_before_the_start_is_one_run_that_answers_all_of_it() -> None:
    world = _world()
    for text in ("One", "Two", "Three"):
        world.post(text, HUSAM)
    world.drain()
    [run] = world.runs()
    assert (run.trigger.from_seq, run.trigger.seq) == (1, 3)
    assert world.texts() == ["One", "Two", "Three", "Hello!"]


def test_a_burst_while_busy_becomes_one_follow_up() -> None:
    world = _world()

    def busy(_: ModelRequest) -> str:
        for text in ("Two", "Three"):
            world.post(text, HUSAM)
        assert world.queues.ready("turns") == ()
        return "To the first"

    world.model.script.append(busy)
    world.model.script.append("To the others")
    world.post("One", HUSAM)
    world.drain()
    assert world.texts() == ["One", "Two", "Three", "To the first", "To the others"]
    first, second = world.runs()
    assert (second.trigger.from_seq, second.trigger.seq) == (2, 3)
    assert [run.shown and run.shown.seq for run in (first, second)] == [1, 4]


def test_first_claim_leaves_the_due_pointer_and_later_ones_move_it_to_their_leases_end() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    [run] = world.runs()
    created = world.table.all_items()[run.key]["gsi2sk"]
    assert _claim(world) is not None
    assert world.table.all_items()[run.key]["gsi2sk"] == created
    world.clock.advance(123)
    again = _claim(world)
    assert again is not None
    assert again.run.attempts == 2
    item = world.table.all_items()[run.key]
    assert item["gsi2sk"].startswith(item["lease_until"])


def test_a_second_job_for_a_running_run_is_refused() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    assert _claim(world) is not None
    assert _claim(world) is None
    assert world.runs()[0].attempts == 1


def test_a_queued_run_is_refused_while_another_is_at_work_and_is_sent_when_that_ends() -> None:
    world = _world()
    world.post("One", HUSAM)
    first = _claim(world)
    assert first is not None
    world.post("Two", HUSAM)
    assert _claim(world, 1) is None
    assert world.runs()[1].attempts == 0
    world.queues.ready("turns")

    world.app.completion.end(first, "done")

    assert world.queues.ready("turns") == (_job(world, 1),)


# ---------------------------------------------------------------------- races


def test_post_against_claim_a_message_that_comes_during_the_claim_is_in_the_run() -> None:
    world, table = _racing()
    world.post("One", HUSAM)
    table.before = ("RUN#", lambda: world.post("Two", HUSAM))
    claim = _claim(world)
    assert claim is not None
    assert (claim.run.trigger.from_seq, claim.run.trigger.seq) == (1, 2)
    assert len(world.runs()) == 1


def test_claim_against_post_a_message_that_loses_gets_a_run_of_its_own() -> None:
    world, table = _racing()
    world.post("One", HUSAM)
    table.before = ("MSG#", lambda: _claim(world))
    world.post("Two", HUSAM)
    first, second = world.runs()
    assert (first.status, second.status) == ("running", "queued")
    assert second.trigger.from_seq == 2


def test_post_against_finish_the_late_message_is_answered_at_once() -> None:
    world, table = _racing()
    world.post("One", HUSAM)
    claim = _claim(world)
    assert claim is not None
    world.queues.ready("turns")
    table.before = ("RUN#", lambda: world.post("Two", HUSAM))
    world.app.completion.end(claim, "done")
    assert world.queues.ready("turns") == (_job(world, 1),)


def test_finish_against_post_the_message_sends_its_run_itself() -> None:
    world, table = _racing()
    world.post("One", HUSAM)
    claim = _claim(world)
    assert claim is not None
    world.clock.advance(2)
    world.queues.ready("turns")
    table.before = ("MSG#", lambda: world.app.completion.end(claim, "done"))
    world.post("Two", HUSAM)
    assert [waiting.job for waiting in world.queues.waiting("turns")] == [_job(world, 1)]


def test_post_during_closing_membership_starts_no_run() -> None:
    world, table = _racing()

    def leave() -> None:
        world.close_membership(COACH)
        world.table.write(Update(world.stored_chat().key, add={"version": 1}))

    table.before = ("MSG#", leave)
    world.post("Hello?", HUSAM)
    assert world.runs() == []


def test_a_run_whose_agent_left_before_the_claim_is_canceled() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    world.close_membership(COACH)
    world.drain()
    assert statuses(world.runs()) == ["canceled"]
    assert world.texts() == ["Hello"]


def test_agent_that_leaves_during_its_run_posts_no_answer() -> None:
    world = _world()

    def leave(_: ModelRequest) -> str:
        world.close_membership(COACH)
        return "Too late"

    world.model.script.append(leave)
    world.post("Hello", HUSAM)
    world.drain()
    assert world.texts() == ["Hello"]
    assert statuses(world.runs()) == ["canceled"]
    assert world.membership(COACH).running_run is None


def test_worker_with_expired_lease_cannot_change_the_run() -> None:
    world = _world("First answer", "Second answer")
    world.post("Hello", HUSAM)
    slow = _claim(world)
    assert slow is not None
    world.clock.advance(200)
    world.drain()
    world.tick()
    world.drain()
    assert world.texts() == ["Hello", "First answer"]
    attempts: list[Callable[[], object]] = [
        lambda: world.app.completion.end(slow, "done"),
        lambda: world.app.leases.defer(slow, Reason.MODEL_UNAVAILABLE, "late"),
        lambda: world.app.leases.retry_later(slow, "late"),
        lambda: world.app.leases.continue_later(slow),
    ]
    for late in attempts:
        with pytest.raises(LostLease):
            late()


def test_worker_whose_run_was_reclaimed_raises_lost_lease() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    slow = _claim(world)
    world.clock.advance(200)
    quick = _claim(world)
    assert slow is not None
    assert quick is not None
    with pytest.raises(LostLease):
        world.app.completion.end(slow, "failed")
    with pytest.raises(LostLease):
        world.app.leases.continue_later(slow)
    assert (world.runs()[0].status, world.runs()[0].fence) == ("running", quick.run.fence)
    world.app.completion.end(quick, "done")
    assert statuses(world.runs()) == ["done"]


def test_a_worker_that_is_overtaken_while_the_model_thinks_posts_nothing() -> None:
    world = _world()

    def slow(_: ModelRequest) -> str:
        world.clock.advance(200)
        world.tick()
        world.run_ready()
        return "Too slow"

    world.model.script.append(slow)
    world.post("Hello", HUSAM)
    world.drain()
    assert world.texts() == ["Hello", "Hello!"]
    assert statuses(world.runs()) == ["done"]


# ---------------------------------------------------------------------- repair


def test_a_job_that_was_never_sent_is_sent_by_the_tick() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    world.queues.ready("turns")
    world.clock.advance(5)
    world.queues.ready("turns")
    assert world.tick() == 0
    world.clock.advance(60)
    assert world.tick() == 1
    world.drain()
    assert world.texts() == ["Hello", "Hello!"]


def test_two_ticks_at_once_send_a_job_once() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    world.clock.advance(120)
    world.queues.ready("turns")
    assert world.tick() == 1
    assert world.tick() == 0
    world.clock.advance(61)
    assert world.tick() == 1
    world.clock.advance(61)
    assert world.tick() == 0


@pytest.mark.parametrize("moved", [True, False])
def test_a_tick_sends_a_job_although_it_is_unclear_whether_its_mark_moved(*, moved: bool) -> None:
    world = _world()
    world.post("Hello", HUSAM)
    world.clock.advance(120)
    world.queues.ready("turns")
    really = world.table.write

    def unclear(write: Write) -> None:
        world.table.write = really  # type: ignore[method-assign]
        if moved:
            really(write)
        raise Ambiguous("no answer")

    world.table.write = unclear  # type: ignore[method-assign]
    assert world.tick() == 1
    world.drain()
    assert world.texts() == ["Hello", "Hello!"]
    assert world.tick() == 0


def test_a_dead_worker_is_taken_over_within_two_minutes_of_its_leases_end() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    assert _claim(world) is not None
    world.queues.ready("turns")
    world.clock.advance(122 + 60)
    world.tick()
    world.drain()
    assert world.texts() == ["Hello", "Hello!"]
    assert world.runs()[0].attempts == 2


def test_after_three_attempts_a_run_has_failed_and_the_slot_is_free() -> None:
    world = _world(*[RuntimeError("a bug")] * 3)
    world.post("Hello", HUSAM)
    world.drain()
    [run] = world.runs()
    assert (run.status, run.attempts) == ("failed", 3)
    assert run.error is not None
    assert "RuntimeError in agent/turn_steps.py, line" in run.error
    assert "a bug" not in run.error
    assert world.metrics.counts["RunsFailed"] == 1
    assert world.membership(COACH).running_run is None
    world.post("Still there?", HUSAM)
    world.drain()
    assert world.texts()[-1] == "Hello!"


def test_workers_that_vanish_three_times_fail_the_run() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    for _ in range(3):
        assert _claim(world) is not None
        world.clock.advance(200)
    assert _claim(world) is None
    assert statuses(world.runs()) == ["failed"]


def test_model_outage_costs_no_attempt_and_tells_the_person_once() -> None:
    world = _world(*[Unavailable("503")] * 6, "Back again")
    world.post("Hello", HUSAM)
    world.drain()
    [run] = world.runs()
    assert (run.status, run.attempts, run.deferrals) == ("done", 1, 6)
    assert world.texts() == ["Hello", Settings().apology_text, "Back again"]


def test_a_model_that_is_down_for_hours_fails_the_run_in_the_end() -> None:
    world = _world()
    world.model.default = Unavailable("503")
    world.post("Hello", HUSAM)
    world.drain()
    [run] = world.runs()
    assert run.status == "failed"
    assert "deferred for too long" in (run.error or "")
    assert run.ended_at is not None
    tried = run.ended_at - run.created_at
    assert DEFERRALS.give_up < tried < DEFERRALS.give_up + timedelta(hours=1)


def test_a_request_that_the_model_refuses_fails_at_once() -> None:
    world = _world(ModelRejected("context too long"))
    world.post("Hello", HUSAM)
    world.drain()
    assert [(r.status, r.error) for r in world.runs()] == [("failed", "context too long")]


def test_run_with_too_little_time_continues_in_a_new_invocation() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    world.clock.advance(2)
    [job] = world.queues.ready("turns")
    assert isinstance(job, RunJob)
    world.app.turns.take(job, deadline=world.clock.now() + timedelta(seconds=15))
    assert world.model.requests == []
    world.drain()
    assert world.runs()[0].attempts == 1
    assert world.texts() == ["Hello", "Hello!"]


def test_a_recorded_answer_is_used_again_instead_of_asking_the_model_twice() -> None:
    world, table = _racing("The one answer")

    def die() -> None:
        raise RuntimeError("killed before the answer was posted")

    world.post("Hello", HUSAM)
    table.before = ("MSG#000000000002", die)
    world.drain()
    assert world.texts() == ["Hello", "The one answer"]
    assert len(world.model.requests) == 1
    assert world.membership(COACH).seen_seq == 1


@pytest.mark.parametrize(
    "cut_short", ["Half a smile: \ud83d", calls(("send_mes\ud83dsage", {}), text="Half \ud83d")]
)
def test_an_answer_that_ends_within_a_character_is_recorded_like_any_other(
    cut_short: str | Calls,
) -> None:
    world = _world(cut_short)
    world.post("Hello", HUSAM)
    world.drain()
    [run] = world.runs()
    assert (run.status, run.attempts) == ("done", 1)
    assert world.texts()[1] in {"Half a smile: ?", "Hello!"}
