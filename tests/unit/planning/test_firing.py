"""Plans come due: once, together with their run, whatever happens to the tick."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from skein.errors import ConditionFailed, Unavailable, Unprocessable
from skein.models.common.reason import Reason
from skein.models.common.storage import Query, Update, Write
from skein.models.outbox.jobs import Job, RunJob
from skein.models.runs.run import Run, live_key
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner
from skein.planning.firing import Firing
from skein.planning.models.plan import Plan
from skein.settings import Settings
from tests.fakes.system import MemoryQueues
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, TENANT, World, bot, live, person
from tests.support.fakes import Killed

OWNER = Owner(tenant=TENANT, agent_id="agt_a", by_operator=True)
HERE = OWNER.reach
MINUTE = 60
ANN = person("usr_ann", "Ann")


def planned(world: World | None = None, **fields: Any) -> World:
    """A world with an agent and one plan, by default every day at 9 in Berlin."""
    world = world or World()
    world.agent()
    times = fields or {"cron": "0 9 * * *", "time_zone": "Europe/Berlin"}
    world.app.plans.set(times.pop("owner", OWNER), "Daily Report", "Post the numbers", **times)
    return world


def the_plan(world: World) -> Plan:
    [plan] = live(world.app.plans, HERE)
    return plan


def fired(world: World) -> list[Run]:
    """The runs in the agent's own partition."""
    page = world.table.query(Query.under(f"{TENANT}#AGENT#agt_a", "RUN#"))
    return [Run.from_item(item) for item in page.items if "#STEP#" not in item["sk"]]


def turn_to(world: World, when: str) -> None:
    world.clock.set(datetime.fromisoformat(f"2026-{when}Z"))


# ---------------------------------------------------------------------- what a firing does


def test_a_plan_that_is_due_starts_a_run_with_its_instruction() -> None:
    world = planned()
    plan = the_plan(world)
    turn_to(world, "02-19T08:00:20")
    assert world.tick() == 1
    [run] = fired(world)
    assert (run.agent_id, run.chat_id, run.status, run.chain_depth) == ("agt_a", None, "queued", 0)
    assert (run.trigger.type, run.audience) == ("plan", OPEN)
    assert run.trigger.plan is not None
    assert run.trigger.plan.model_dump(exclude_none=True) == {
        "id": plan.id,
        "name": "Daily Report",
        "instruction": "Post the numbers",
        "scheduled_at": "2026-02-19T08:00:00.000Z",
        "by_operator": True,
    }
    [waiting] = world.queues.waiting("turns")
    assert waiting.job == RunJob(tenant=TENANT, run_id=run.id, agent_id="agt_a")
    assert the_plan(world).next_at == datetime(2026, 2, 20, 8, 0, tzinfo=UTC)


def test_a_run_is_pointed_at_while_it_lives() -> None:
    world = planned(run_after="1 minute")
    world.clock.advance(MINUTE)
    world.tick()
    [run] = fired(world)
    pointer = world.table.get(live_key(run))
    assert pointer is not None
    assert (pointer["run_id"], pointer["tenant"], pointer["agent_id"]) == (run.id, TENANT, "agt_a")


def test_a_run_that_has_ended_is_no_longer_pointed_at() -> None:
    world = planned(run_after="1 minute")
    world.clock.advance(MINUTE)
    world.tick()
    world.drain()
    [run] = fired(world)
    assert (run.status, len(world.model.requests)) == ("done", 1)
    assert world.table.get(live_key(run)) is None
    world.clock.advance(24 * 60 * MINUTE)
    assert world.tick() == 0


def test_a_plan_that_is_not_due_yet_does_nothing() -> None:
    world = planned()
    turn_to(world, "02-19T07:59:59")
    assert world.tick() == 0
    assert fired(world) == []


def test_a_plan_for_once_is_done_once_it_has_fired() -> None:
    world = planned(run_after="1 minute")
    plan = the_plan(world)
    world.clock.advance(MINUTE)
    assert world.tick() == 1
    over = world.app.plans.get(HERE, plan.id)
    assert (over.status, over.next_at, over.ended_at) == ("done", None, world.clock.now())
    world.clock.advance(24 * 60 * MINUTE)
    world.tick()
    assert len(fired(world)) == 1


def test_a_private_plan_starts_a_run_for_the_same_people() -> None:
    private = Audience(open=False, people=("usr_ann",))
    owner = OWNER.model_copy(update={"scope": "user:usr_ann", "audience": private})
    world = planned(owner=owner, run_after="1 minute")
    world.clock.advance(MINUTE)
    world.tick()
    [run] = fired(world)
    assert run.audience == private


def test_plans_of_one_name_and_time_for_two_audiences_both_fire() -> None:
    world = planned(cron="0 13 * * *")
    owner = OWNER.model_copy(update={"scope": "user:usr_ann"})
    world.app.plans.set(owner, "Daily Report", "Post the numbers", cron="0 13 * * *")
    turn_to(world, "02-18T13:00:00")
    assert world.tick() == 2
    assert len({run.id for run in fired(world)}) == 2


# ---------------------------------------------------------------------- time


def test_times_that_were_missed_fire_once_together() -> None:
    world = planned()
    turn_to(world, "02-25T20:00:00")
    assert world.tick() == 1
    assert world.tick() == 0
    [run] = fired(world)
    assert run.trigger.plan is not None
    assert run.trigger.plan.scheduled_at == datetime(2026, 2, 19, 8, 0, tzinfo=UTC)
    assert the_plan(world).next_at == datetime(2026, 2, 26, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "hours"),
    [("03-28", [8, 7, 7]), ("10-24", [7, 8, 8])],
    ids=["clocks go forward", "clocks go back"],
)
def test_nine_in_berlin_fires_at_nine_in_berlin(day: str, hours: list[int]) -> None:
    world = World()
    turn_to(world, f"{day}T00:00:00")
    planned(world)
    for later in range(3 * 24 * 60):
        world.clock.advance(MINUTE)
        if later % 60 == 59:
            world.tick()
    due = sorted(run.trigger.plan.scheduled_at for run in fired(world) if run.trigger.plan)
    assert [at.hour for at in due] == hours


# ---------------------------------------------------------------------- once


def test_two_ticks_at_once_start_one_run() -> None:
    world = planned()
    turn_to(world, "02-19T08:00:00")
    item = world.table.get(the_plan(world).key)
    assert item is not None
    one, other = (
        Firing(table=world.table, metrics=world.metrics, settings=Settings()) for _ in range(2)
    )
    assert one.fire(item, world.clock.now()) is not None
    with pytest.raises(ConditionFailed):
        other.fire(item, world.clock.now())
    assert len(fired(world)) == 1


class DeadQueues(MemoryQueues):
    """The process dies as soon as it has something to send."""

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        raise Killed("send")


def test_a_tick_that_dies_before_it_sends_has_started_the_run_all_the_same() -> None:
    world = World()
    world = World(overrides={"queues": DeadQueues(world.clock)})
    planned(world)
    turn_to(world, "02-19T08:00:00")
    with pytest.raises(Killed):
        world.tick()
    revived = World(overrides={"table": world.table})
    revived.clock.set(world.clock.now() + timedelta(minutes=1))
    assert revived.tick() == 1
    [run] = fired(world)
    assert [w.job for w in revived.queues.waiting("turns")] == [
        RunJob(tenant=TENANT, run_id=run.id, agent_id="agt_a")
    ]


def test_a_tick_that_dies_before_it_commits_leaves_the_plan_due() -> None:
    class Dying(MemoryTable):
        armed = False

        def transact(self, writes: Sequence[Write]) -> None:
            if self.armed:
                self.armed = False
                raise Killed("transact")
            super().transact(writes)

    table = Dying()
    world = World(overrides={"table": table})
    world.table = table
    planned(world)
    turn_to(world, "02-19T08:00:00")
    table.armed = True
    with pytest.raises(Killed):
        world.tick()
    assert fired(world) == []
    assert world.tick() == 1
    assert len(fired(world)) == 1


def test_a_plan_that_is_replaced_while_it_fires_does_not_fire_its_old_self() -> None:
    world = planned()
    item = world.table.get(the_plan(world).key)
    assert item is not None
    world.app.plans.set(OWNER, "Daily Report", "Rest", run_after="1 week")
    turn_to(world, "02-19T08:00:00")
    firing = Firing(table=world.table, metrics=world.metrics, settings=Settings())
    with pytest.raises(ConditionFailed):
        firing.fire(item, world.clock.now())
    assert world.tick() == 0
    assert fired(world) == []


# ---------------------------------------------------------------------- what cannot fire


@pytest.mark.parametrize("gone", ["deleted", "missing"])
def test_the_plans_of_an_agent_that_is_gone_end_without_a_run(gone: str) -> None:
    world = World()
    plan = world.app.plans.set(OWNER, "Daily Report", "Post the numbers", cron="0 9 * * *")
    if gone == "deleted":
        world.agent(deleted_at=NOON)
    world.clock.advance(24 * 60 * MINUTE)
    assert world.tick() == 0
    assert fired(world) == []
    over = world.app.plans.get(HERE, plan.id)
    assert (over.status, over.reason) == ("canceled", Reason.AGENT_DELETED)
    assert world.metrics.counts["DueFailed"] == 0


IN_CHAT = OWNER.model_copy(update={"source_chat_id": "chat_1", "source_run_id": "run_1_chat_1"})


def in_chat(**fields: Any) -> World:
    """A world with a plan that was set in a private group of Ann and the agent."""
    world = World()
    world.chat(ANN, bot(), respond="manual", visibility="private")
    audience = Audience(open=False, people=(ANN.id,))
    given = {"scope": "chat:chat_1", "audience": audience, "by_operator": False} | fields
    owner = IN_CHAT.model_copy(update=given)
    return planned(world, owner=owner, run_after="1 minute", set_by=ANN.id)


def test_run_of_plan_belongs_to_chat_of_plan() -> None:
    world = in_chat()
    world.clock.advance(MINUTE)
    assert world.tick() == 1
    [run] = fired(world)
    assert (run.chat_id, run.own_chat_id, run.active_chat_id) == (None, "chat_1", "chat_1")
    assert (run.audience.people, run.scope) == ((ANN.id,), "chat:chat_1")
    assert run.trigger.user_id == ANN.id
    assert run.trigger.plan is not None
    assert not run.trigger.plan.by_operator


@pytest.mark.parametrize(
    ("event", "reason"),
    [("leaves", Reason.AGENT_LEFT), ("discards", Reason.CHAT_DISCARDED)],
)
def test_plan_whose_chat_is_gone_is_canceled_with_reason(event: str, reason: Reason) -> None:
    world = in_chat()
    if event == "leaves":
        world.app.chat_admin.remove_member(TENANT, "chat_1", ANN.ref, bot().ref)
    else:
        world.app.chat_admin.discard(TENANT, "chat_1", ANN.ref)
    world.clock.advance(MINUTE)
    assert world.tick() == 0
    assert fired(world) == []
    reach = OWNER.reach.model_copy(update={"scopes": ("chat:chat_1",)})
    [over] = world.app.plans.list(reach).items
    assert (over.status, over.reason) == ("canceled", reason)


def test_open_plan_of_private_chat_gets_audience_of_that_chat() -> None:
    world = in_chat(scope=None, audience=OPEN)
    world.clock.advance(MINUTE)
    world.tick()
    [run] = fired(world)
    assert (run.audience.people, run.scope) == ((ANN.id,), "chat:chat_1")


def test_a_plan_that_cannot_fire_gives_way_to_the_others() -> None:
    world = planned()
    broken = world.app.plans.set(OWNER, "Broken", "Fail", run_after="1 minute")
    world.table.write(Update(broken.key, set={"cron": "nonsense"}))
    turn_to(world, "02-19T08:00:00")
    assert world.tick() == 1
    assert world.metrics.counts["DueFailed"] == 1
    assert len(fired(world)) == 1
    assert world.tick() == 0
    assert world.metrics.counts["DueFailed"] == 1
    for tries, minutes in enumerate((1, 2, 4), start=1):
        world.clock.advance(minutes * MINUTE)
        world.tick()
        assert world.metrics.counts["DueFailed"] == 1 + tries


def test_a_plan_that_could_not_fire_fires_once_it_can_and_forgets_its_tries() -> None:
    class Failing(MemoryTable):
        down = False

        def transact(self, writes: Sequence[Write]) -> None:
            if self.down:
                raise Unavailable("the table is down")
            super().transact(writes)

    table = Failing()
    world = World(overrides={"table": table})
    world.table = table
    planned(world)
    turn_to(world, "02-19T08:00:00")
    table.down = True
    assert world.tick() == 0
    table.down = False
    world.clock.advance(MINUTE)
    assert world.tick() == 1
    item = table.get(the_plan(world).key)
    assert item is not None
    assert "due_tries" not in item
    assert the_plan(world).next_at == datetime(2026, 2, 20, 8, 0, tzinfo=UTC)


# ---------------------------------------------------------------------- how often, how long


def fast_plan(world: World, cron: str, **fields: Any) -> None:
    """A plan that fires more often than `MIN_CRON_MINUTES` allows."""
    planned(world)
    world.table.write(Update(the_plan(world).key, set={"cron": cron} | fields))


@pytest.mark.parametrize("cron", ["* * * * *", "*/14 * * * *", "0,5 9 * * *", "0,55 0,23 * * *"])
def test_cron_plan_that_fires_too_often_is_refused(cron: str) -> None:
    world = World()
    world.agent()
    with pytest.raises(Unprocessable, match="cron"):
        world.app.plans.set(OWNER, "Often", "Do it", cron=cron)


@pytest.mark.parametrize("cron", ["*/15 * * * *", "0 * * * *", "0,15 9 * * *", "0 2,3 * * *"])
def test_cron_plan_at_the_least_distance_is_accepted(cron: str) -> None:
    world = World()
    world.agent()
    assert world.app.plans.set(OWNER, "Fine", "Do it", cron=cron, time_zone="Europe/Berlin")


def test_plan_that_was_set_at_a_faster_pace_fires_every_quarter_of_an_hour() -> None:
    world = World()
    fast_plan(world, "* * * * *")
    turn_to(world, "02-19T08:00:00")
    for _ in range(120):
        world.tick()
        world.clock.advance(MINUTE)
    assert len(fired(world)) == 8


def test_plan_every_quarter_of_an_hour_misses_nothing_though_ticks_are_late() -> None:
    world = planned(cron="*/15 * * * *")
    for number in range(1, 9):
        world.clock.set(the_plan(world).next_at or NOON)
        world.clock.advance(50)
        world.tick()
        assert len(fired(world)) == number
    assert world.clock.now() == NOON + timedelta(minutes=120, seconds=50)


DAYS = 24 * 60 * MINUTE
DAILY, WEEKLY = "0 9 * * *", "0 9 * * 3"  # NOON is on a Wednesday


def anns_plan(cron: str = DAILY) -> World:
    """A plan that Ann's run has set, in a group in which she reads and writes."""
    world = World()
    world.chat(ANN, person(), respond="manual")
    world.post("Remind me", ANN)
    return planned(world, cron=cron, set_by=ANN.id)


def days_pass(world: World, days: int, *, step: int = 1) -> None:
    """Let days pass; on each, or on each of so many, somebody else writes and the tick fires."""
    for _ in range(0, days, step):
        world.clock.advance(step * DAYS)
        world.post("Good morning", person())
        world.app.tick.run(world.app.firing, until=world.clock.now() + timedelta(seconds=45))
        world.queues.ready("turns")


def test_plan_ends_after_90_days_without_activity_of_its_person() -> None:
    world = anns_plan("0 12 * * 1")
    plan = the_plan(world)
    days_pass(world, 84, step=6)
    assert the_plan(world).status == "active"
    days_pass(world, 12, step=6)
    over = world.app.plans.get(HERE, plan.id)
    assert (over.status, over.next_at) == ("canceled", None)
    assert over.reason == Reason.PERSON_INACTIVE
    assert world.metrics.counts["PlansLapsed"] == 1
    assert 11 <= len(fired(world)) <= 13


@pytest.mark.parametrize("reads", [False, True])
def test_plan_lives_on_while_its_person_writes_or_reads(reads: bool) -> None:
    world = anns_plan(WEEKLY)
    days_pass(world, 63, step=7)
    if reads:
        world.app.views.read(TENANT, ANN.id, "chat_1", world.stored_chat().last_seq)
    else:
        world.post("Thanks", ANN)
    days_pass(world, 63, step=7)
    assert the_plan(world).status == "active"
    assert len(fired(world)) == 18


def test_plan_of_an_operator_never_ends_by_itself() -> None:
    world = planned(cron=WEEKLY)
    for _ in range(18):
        world.clock.advance(7 * DAYS)
        assert world.tick() > 0
    assert len(fired(world)) == 18


def test_activity_is_looked_up_once_a_day_at_most() -> None:
    world = anns_plan()
    world.clock.advance(DAYS)
    item = world.table.get(the_plan(world).key)
    assert item is not None
    world.clock.set(the_plan(world).next_at or NOON)
    world.table.log.clear()
    Firing(table=world.table, metrics=world.metrics, settings=Settings()).fire(
        item, world.clock.now()
    )
    first = [call.method for call in world.table.log]
    assert first.count("query_index") <= 1
    fresh = world.table.get(the_plan(world).key)
    assert fresh is not None
    assert fresh["active_at"] is not None
