"""Plans that are due in quiet hours: which are deferred, until when, and that none is lost."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from skein.errors import ConditionFailed
from skein.models.api.directory import NewUser, UserChange
from skein.models.common.address import Route
from skein.models.common.quiet_hours import QuietHours
from skein.models.common.reason import Reason
from skein.models.common.storage import Query, Update, Write
from skein.models.config.overrides import TenantOverridesChange
from skein.models.runs.run import Run
from skein.models.visibility.ownership import Owner
from skein.planning.firing import Firing
from skein.planning.models.plan import Plan
from skein.settings import Settings
from tests.fakes.table import MemoryTable
from tests.support.builders import LINE, PHONE, TENANT, World, bot, live, person
from tests.support.fakes import Killed
from tests.support.number_codes import link_number
from tests.support.routes import sms_route

DANA = person("usr_dana", "Dana")
COACH = bot()
SMS = sms_route(line=LINE, phone=PHONE)
OWNER = Owner(
    tenant=TENANT, agent_id="agt_a", source_chat_id="chat_1", source_run_id="run_1_chat_1"
)
HERE = OWNER.reach
NONE = QuietHours(from_="00:00", to="00:00")
NIGHT_IN_NEW_YORK = "2026-02-19T08:00"  # three o'clock there
MORNING = datetime(2026, 2, 19, 13, tzinfo=UTC)  # eight o'clock there


def stage(
    *,
    settings: Settings | None = None,
    sms: Route | None = SMS,
    zone: str | None = "America/New_York",
    table: MemoryTable | None = None,
    **chat: Any,
) -> World:
    """Dana of New York, in a direct chat with an agent whose zone is UTC."""
    world = World(settings or Settings(), overrides={"table": table} if table else {})
    world.table = table or world.table
    world.agent()
    world.chat(DANA, COACH, route=sms, **({"kind": "direct", "visibility": "private"} | chat))
    world.app.users.create(TENANT, NewUser(id=DANA.id, name="Dana", time_zone=zone))
    return world


def planned(world: World, **fields: Any) -> Plan:
    """A plan at 3:00 in New York that Dana's agent set by itself."""
    if not {"cron", "run_after"} & set(fields):
        fields = {"scheduled_at": f"{NIGHT_IN_NEW_YORK}:00Z"} | fields
    fields = {"set_by": DANA.id} | fields
    return world.app.plans.set(OWNER, "Check in", "Ask Dana", **fields)


def the_plan(world: World) -> Plan:
    [plan] = live(world.app.plans, HERE)
    return plan


def fired(world: World) -> list[Run]:
    page = world.table.query(Query.under(f"{TENANT}#AGENT#agt_a", "RUN#"))
    return [Run.from_item(item) for item in page.items if "#STEP#" not in item["sk"]]


def turn_to(world: World, moment: str | datetime) -> None:
    at = datetime.fromisoformat(f"{moment}Z") if isinstance(moment, str) else moment
    world.clock.set(at)


# ---------------------------------------------------------------------- deferred


def test_plan_due_in_quiet_hours_fires_once_at_their_end() -> None:
    world = stage()
    planned(world)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == 0
    plan = the_plan(world)
    assert (plan.next_at, plan.deferred_from) == (MORNING, MORNING - timedelta(hours=5))
    assert plan.reason == Reason.QUIET_HOURS
    turn_to(world, MORNING - timedelta(seconds=1))
    assert world.tick() == 0
    turn_to(world, MORNING)
    assert world.tick() == 1
    assert world.tick() == 0
    [run] = fired(world)
    assert run.trigger.plan is not None
    assert run.trigger.plan.scheduled_at == MORNING - timedelta(hours=5)
    assert world.app.plans.get(HERE, plan.id).status == "done"
    assert world.metrics.counts["PlansDeferred"] == 1


def test_cron_plan_in_quiet_hours_fires_each_morning() -> None:
    world = stage()
    planned(world, cron="0 3 * * *", time_zone="America/New_York")
    for day in range(3):
        turn_to(world, datetime(2026, 2, 19 + day, 8, tzinfo=UTC))
        world.tick()
        assert len(fired(world)) == day
        turn_to(world, MORNING + timedelta(days=day))
        world.tick()
        assert len(fired(world)) == day + 1
        assert (the_plan(world).deferred_from, the_plan(world).reason) == (None, None)
    assert the_plan(world).next_at == datetime(2026, 2, 22, 8, tzinfo=UTC)


def test_plan_of_every_quarter_of_an_hour_is_silent_at_night() -> None:
    world = stage()
    planned(world, cron="*/15 * * * *")
    turn_to(world, "2026-02-19T01:50")
    starts = [world.clock.now()]
    while len(starts) < 4:
        world.clock.advance(300)
        world.tick()
        starts += [world.clock.now()] * (len(fired(world)) - len(starts) + 1)
    last_evening, *morning = starts[1:]
    assert last_evening < datetime(2026, 2, 19, 2, tzinfo=UTC)
    assert morning == [MORNING, MORNING + timedelta(minutes=15)]


@pytest.mark.parametrize(
    ("zone", "morning"),
    [
        ("Asia/Tokyo", None),  # it is five in the afternoon there
        ("Europe/Berlin", None),
        ("America/Los_Angeles", datetime(2026, 2, 19, 16, tzinfo=UTC)),
        (None, None),  # the agent's zone is UTC, where the night ends at eight
    ],
)
def test_quiet_hours_are_those_of_the_persons_zone(
    zone: str | None, morning: datetime | None
) -> None:
    world = stage(zone=zone)
    planned(world)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == (morning is None)
    if morning is not None:
        assert the_plan(world).next_at == morning


def test_quiet_hours_of_a_person_without_zone_are_those_of_their_number() -> None:
    world = stage(zone=None)
    link_number(world, DANA.id, "+18765550123")
    planned(world)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")  # three o'clock in Jamaica, too
    assert world.tick() == 0
    assert the_plan(world).next_at == MORNING


@pytest.mark.parametrize(
    ("own", "tenants", "stack", "ends"),
    [
        (None, None, None, MORNING),
        (None, None, NONE, None),
        (None, NONE, None, None),
        (NONE, None, None, None),
        (None, QuietHours(from_="22:00", to="06:30"), NONE, MORNING - timedelta(minutes=90)),
        (QuietHours(from_="01:00", to="09:15"), NONE, NONE, MORNING + timedelta(minutes=75)),
    ],
)
def test_persons_quiet_hours_win_over_the_tenants_and_these_over_the_stacks(
    own: QuietHours | None,
    tenants: QuietHours | None,
    stack: QuietHours | None,
    ends: datetime | None,
) -> None:
    world = stage(settings=Settings(quiet_hours=stack) if stack else None)
    world.app.users.change(TENANT, DANA.id, UserChange(quiet_hours=own))
    world.app.tenant_settings.change(TENANT, TenantOverridesChange(quiet_hours=tenants))
    planned(world)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == (ends is None)
    if ends is not None:
        assert the_plan(world).next_at == ends


# ---------------------------------------------------------------------- not deferred


@pytest.mark.parametrize(
    "chat",
    [
        {"sms": None},
        {"kind": "group"},
        {"kind": "group", "visibility": "open"},
    ],
    ids=["direct chat in the app", "private group", "open group"],
)
def test_plan_whose_chat_is_not_on_sms_fires_at_night(chat: dict[str, Any]) -> None:
    world = stage(**chat)
    planned(world)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == 1


def test_plan_for_a_person_who_has_opted_out_fires_at_night() -> None:
    world = stage()
    member = world.membership(DANA)
    world.table.write(Update(member.key, set={"opt_outs": {"sms": "2026-02-18T12:00:00.000Z"}}))
    planned(world)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == 1


def test_plan_without_a_chat_fires_at_night() -> None:
    world = stage()
    owner = Owner(tenant=TENANT, agent_id="agt_a")
    world.app.plans.set(owner, "Report", "Post it", scheduled_at=f"{NIGHT_IN_NEW_YORK}Z")
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == 1


@pytest.mark.parametrize(
    "time",
    [
        {"scheduled_at": f"{NIGHT_IN_NEW_YORK}Z"},
        {"cron": "0 3 * * *", "time_zone": "America/New_York"},
    ],
    ids=["scheduled_at", "cron"],
)
def test_plan_at_a_time_that_the_person_asked_for_fires_at_night(time: dict[str, str]) -> None:
    world = stage()
    planned(world, asked=True, **time)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == 1


def test_plan_at_a_time_that_another_person_asked_for_is_deferred() -> None:
    world = stage()
    planned(world, asked=True, set_by="usr_eve")
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == 0


def test_plan_of_an_operator_is_deferred() -> None:
    world = stage()
    planned(world, set_by=None)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    assert world.tick() == 0


@pytest.mark.parametrize(
    ("delay", "at_once"),
    [("20 minutes", True), ("1 hour", True), ("61 minutes", False), ("5 hours", False)],
)
def test_delay_counts_as_the_persons_time_up_to_an_hour(delay: str, at_once: bool) -> None:
    world = stage()
    turn_to(world, "2026-02-19T03:00")  # ten in the evening
    planned(world, run_after=delay, asked=True)
    world.clock.set(the_plan(world).next_at or MORNING)
    assert world.tick() == at_once


def test_plan_due_just_before_quiet_hours_fires_although_the_tick_is_late() -> None:
    world = stage()
    planned(world, scheduled_at="2026-02-19T01:59:30Z")
    turn_to(world, "2026-02-19T02:00:20")
    assert world.tick() == 1


def test_plan_that_was_due_hours_before_quiet_hours_is_deferred() -> None:
    world = stage()
    planned(world, scheduled_at="2026-02-18T22:00:00Z")
    turn_to(world, "2026-02-19T03:00:00")
    assert world.tick() == 0
    assert the_plan(world).next_at == MORNING


def test_plan_due_in_the_last_minute_of_quiet_hours_fires_at_the_late_tick() -> None:
    world = stage()
    planned(world, scheduled_at="2026-02-19T12:59:40Z")
    turn_to(world, "2026-02-19T13:00:10")
    assert world.tick() == 1


# ---------------------------------------------------------------------- once, and none lost


def test_two_ticks_at_once_defer_a_plan_once() -> None:
    world = stage()
    item = world.table.get(planned(world).key)
    assert item is not None
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    one, other = (
        Firing(table=world.table, metrics=world.metrics, settings=world.settings) for _ in range(2)
    )
    assert one.fire(item, world.clock.now()) is None
    with pytest.raises(ConditionFailed):
        other.fire(item, world.clock.now())
    assert the_plan(world).next_at == MORNING


@pytest.mark.parametrize("committed", [False, True])
def test_tick_that_dies_while_it_defers_leaves_a_plan_that_fires_once_in_the_morning(
    committed: bool,
) -> None:
    class Dying(MemoryTable):
        armed = False

        def transact(self, writes: Sequence[Write]) -> None:
            if self.armed and not committed:
                raise Killed("transact")
            super().transact(writes)
            if self.armed:
                raise Killed("transact")

    table = Dying()
    world = stage(table=table)
    planned(world)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    table.armed = True
    with pytest.raises(Killed):
        world.tick()
    table.armed = False
    assert world.tick() == 0
    assert the_plan(world).next_at == MORNING
    turn_to(world, MORNING)
    assert world.tick() == 1
    assert world.tick() == 0
    assert len(fired(world)) == 1


def test_all_plans_of_one_night_fire_in_the_morning() -> None:
    world = stage()
    for number in range(110):
        scheduled_at = datetime(2026, 2, 19, 4, tzinfo=UTC) + timedelta(minutes=number)
        owner = OWNER.model_copy(update={"scope": f"chat:{number % 2}"})
        world.app.plans.set(
            owner, f"Plan {number}", "Ask", scheduled_at=scheduled_at.isoformat(), set_by=DANA.id
        )
    for hour in range(4, 13):
        turn_to(world, datetime(2026, 2, 19, hour, 30, tzinfo=UTC))
        assert world.tick() == 0
    turn_to(world, MORNING)
    assert sum(world.tick() for _ in range(3)) == 110
    assert len({run.id for run in fired(world)}) == 110


def test_plan_that_is_set_again_is_no_longer_deferred() -> None:
    world = stage()
    planned(world)
    turn_to(world, f"{NIGHT_IN_NEW_YORK}:10")
    world.tick()
    plan = planned(world, scheduled_at="2026-02-19T15:00:00Z")
    assert (plan.deferred_from, plan.next_at) == (None, datetime(2026, 2, 19, 15, tzinfo=UTC))
