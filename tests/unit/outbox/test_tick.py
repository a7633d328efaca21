"""The tick: what it sends, in which order, and how much of it."""

from datetime import datetime, timedelta

import pytest

from skein.errors import Unavailable
from skein.models.chats.consolidation import Consolidation
from skein.models.common.storage import Page, Put, Query
from skein.models.outbox.jobs import ConsolidationJob, RunJob
from skein.privacy.models.erasure import Erasure
from skein.services.outbox import tick
from tests.support.builders import NOON, TENANT, World, bot, person

HUSAM, COACH = person(), bot()


def idle_chats(world: World, count: int, at: datetime = NOON) -> None:
    """Direct chats that are due for consolidation."""
    for number in range(count):
        due = Consolidation(tenant=TENANT, chat_id=f"chat_idle_{number}", kind="direct")
        world.table.write(Put(due.key, due.to_item(at)))


def sent(world: World) -> list[type]:
    return [type(waiting.job) for waiting in world.queues.sent]


def overdue_run(world: World) -> None:
    """A run whose job was lost a moment ago."""
    world.agent()
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    world.queues.sent.clear()
    world.clock.advance(90)


def test_runs_are_sent_before_direct_chats_that_have_been_due_for_longer() -> None:
    world = World()
    idle_chats(world, 30, NOON - timedelta(hours=1))
    overdue_run(world)
    assert world.tick() == 31
    kinds = sent(world)
    assert kinds.index(RunJob) < kinds.index(ConsolidationJob)


def test_due_age_metric_grows_while_work_is_not_done() -> None:
    world = World()
    overdue_run(world)
    ages = []
    for _ in range(20):
        world.tick()
        ages.append(world.metrics.counts["DueAgeSeconds"])
        world.metrics.counts.clear()
        world.clock.advance(60)
    assert ages[0] == 0  # a job may be lost
    assert max(ages) == 15 * 60
    world.drain()
    world.tick()
    assert "DueAgeSeconds" not in world.metrics.counts


def test_run_at_work_is_not_sent_and_is_due_at_the_end_of_its_lease() -> None:
    world = World()
    overdue_run(world)
    world.tick()
    [waiting] = world.queues.sent
    job = waiting.job
    assert isinstance(job, RunJob)
    until = world.clock.now() + timedelta(seconds=122)
    claim = world.app.leases.claim(job, lease_until=until)
    assert claim is not None
    world.queues.sent.clear()
    world.clock.advance(60)
    assert world.tick() == 0
    world.clock.advance(63)
    assert world.tick() == 1


def test_tick_sends_a_bounded_number_of_direct_chats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick, "BACKGROUND_PAGES", 1)
    monkeypatch.setattr("skein.services.outbox.due_scanner.PAGE", 2)
    world = World()
    idle_chats(world, 200)
    assert world.tick() == 16  # two of each of eight shards
    assert world.tick() == 16
    assert len({waiting.job for waiting in world.queues.sent}) == 32


def test_runs_that_cannot_be_read_do_not_stop_direct_chats() -> None:
    world = World()
    idle_chats(world, 3)
    real = world.table.query

    def broken(query: Query) -> Page:
        if query.pk.startswith("DUE#run#"):
            raise Unavailable("throttled")
        return real(query)

    world.table.query = broken  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        world.tick()
    assert sent(world) == [ConsolidationJob] * 3


def test_direct_chat_whose_job_waits_is_sent_again_less_and_less_often() -> None:
    world = World()
    idle_chats(world, 1)
    times = []
    for minute in range(180):
        if world.tick():
            times.append(minute)
        world.clock.advance(60)
    assert times == [0, 15, 45, 105, 165]


def test_due_sent_does_not_count_direct_chats() -> None:
    world = World()
    idle_chats(world, 5)
    world.tick()
    assert world.metrics.counts.get("DueSent", 0) == 0


@pytest.mark.parametrize(("hours", "late"), [(23, 0), (25, 1)])
def test_erasure_that_has_not_ended_after_a_day_is_counted_as_late(hours: int, late: int) -> None:
    world = World()
    requested_at = NOON - timedelta(hours=hours)
    erasure = Erasure(
        tenant=TENANT,
        id="era_1",
        user_id=HUSAM.id,
        requested_by="usr_operator",
        requested_at=requested_at,
    )
    world.table.write(Put(erasure.key, erasure.to_item(NOON)))
    assert world.tick() == 1
    assert world.metrics.counts["ErasuresLate"] == late
