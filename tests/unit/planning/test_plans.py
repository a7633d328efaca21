"""Plans: set, replaced and canceled by name, each effect once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.storage import Check, Exists, Key, Query
from skein.models.items.agent_item import REVISION
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner, Reach
from skein.planning.models.plan import MAX_PLANS, Plan
from tests.support.builders import NOON, TENANT, World, live

OWNER = Owner(tenant=TENANT, agent_id="agt_a")
HERE = OWNER.reach
FAILS = Check(Key("nowhere", "META"), Exists())
PRIVATE = OWNER.model_copy(
    update={
        "scope": "user:usr_ann",
        "audience": Audience(open=False, people=("usr_ann",)),
    }
)


def set_plan(
    world: World, name: str = "Daily Report", *, owner: Owner = OWNER, **fields: Any
) -> Plan:
    instruction = fields.pop("instruction", "Post the numbers")
    return world.app.plans.set(owner, name, instruction, **(fields or {"run_after": "2 hours"}))


def keys(world: World, scope: str = "") -> list[str]:
    """What is there, by the kind of its key."""
    items = world.table.query(Query(f"{TENANT}#AGENT#agt_a{scope}")).items
    return [item["sk"].rsplit("#", 1)[0] for item in items if item["sk"] != REVISION]


# ---------------------------------------------------------------------- when


def test_plan_with_run_after_is_due_from_now() -> None:
    plan = set_plan(World(), run_after="2  hours")
    assert (plan.run_after, plan.next_at) == ("2 hours", NOON + timedelta(hours=2))
    assert (plan.scheduled_at, plan.cron) == (None, None)


def test_a_local_time_is_the_time_zones() -> None:
    plan = set_plan(World(), scheduled_at="2026-02-18T18:00", time_zone="Europe/Berlin")
    assert plan.scheduled_at == plan.next_at == NOON + timedelta(hours=5)


def test_a_new_cron_plan_fires_at_its_next_time_and_not_at_once() -> None:
    plan = set_plan(World(), cron="0 13 * * *", time_zone="Europe/Berlin")
    assert (plan.cron, plan.next_at) == ("0 13 * * *", NOON + timedelta(days=1))


@pytest.mark.parametrize(
    "fields",
    [
        {"time_zone": "UTC"},
        {"run_after": "1 hour", "cron": "0 9 * * *"},
        {"run_after": "1 hour", "scheduled_at": "2027-01-01T00:00Z"},
    ],
)
def test_exactly_one_of_the_three_times_is_needed(fields: dict[str, Any]) -> None:
    with pytest.raises(Unprocessable, match="exactly one"):
        set_plan(World(), **fields)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"run_after": "soon"}, "run_after must look like"),
        ({"scheduled_at": "2026-02-18T11:59:59Z"}, "must be in the future"),
        ({"scheduled_at": "noon"}, "scheduled_at must be"),
        ({"cron": "@daily"}, "five fields"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"run_after": "1 hour", "time_zone": "Berlin"}, "time_zone"),
    ],
)
def test_plan_with_invalid_time_names_the_cause(fields: dict[str, Any], why: str) -> None:
    world = World()
    with pytest.raises(Unprocessable, match=why):
        set_plan(world, **fields)
    assert keys(world) == []


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "\ud800"])
def test_a_name_that_does_not_fit_is_refused(name: str) -> None:
    with pytest.raises(Unprocessable):
        set_plan(World(), name)


# ---------------------------------------------------------------------- one by each name


def test_setting_a_plan_again_replaces_it() -> None:
    world = World()
    first = set_plan(world, cron="0 9 * * *")
    world.clock.advance(60)
    second = set_plan(world, " Daily Report ", run_after="1 day", instruction="Rest")
    assert live(world.app.plans, HERE) == (second,)
    assert (second.id, second.version, second.created_at) == (first.id, 2, NOON)
    assert (second.cron, second.instruction) == (None, "Rest")


def test_a_plan_that_was_over_lives_again_and_is_one_item() -> None:
    world = World()
    set_plan(world)
    world.app.plans.cancel(HERE, "Daily Report")
    assert keys(world) == ["ENDED#PLAN"]
    plan = set_plan(world)
    assert keys(world) == ["PLAN"]
    assert (plan.status, plan.version, plan.ended_at) == ("active", 3, None)


def test_names_of_any_kind_are_distinguished() -> None:
    world = World()
    for name in ("a", "A", "a#b", "a%23b", "Ärzte", "~", "計画", "PLAN#a"):
        set_plan(world, name)
    assert len({plan.id for plan in live(world.app.plans, HERE)}) == 8


def test_the_same_name_for_another_audience_is_another_plan() -> None:
    world = World()
    plans = {set_plan(world).id, set_plan(world, owner=PRIVATE).id}
    assert len(plans) == 2
    assert len(live(world.app.plans, HERE)) == 1


def test_an_agent_has_a_hundred_active_plans_at_most() -> None:
    world = World()
    for n in range(MAX_PLANS):
        set_plan(world, f"Plan {n}")
    with pytest.raises(Conflict, match="100 active plans"):
        set_plan(world, "One more")
    set_plan(world, "Plan 7", run_after="3 days")
    world.app.plans.cancel(HERE, "Plan 0")
    set_plan(world, "One more")


# ---------------------------------------------------------------------- canceled


def test_a_canceled_plan_is_over_and_no_longer_due() -> None:
    world = World()
    set_plan(world)
    plan = world.app.plans.cancel(HERE, " Daily Report ")
    assert (plan.status, plan.next_at, plan.ended_at) == ("canceled", None, NOON)
    assert live(world.app.plans, HERE) == ()
    assert world.app.plans.get(HERE, plan.id) == plan
    assert world.app.plans.cancel(HERE, "Daily Report") == plan
    world.clock.advance(7_200)
    assert world.tick() == 0


def test_a_plan_that_is_not_there_cannot_be_canceled() -> None:
    world = World()
    with pytest.raises(NotFound):
        world.app.plans.cancel(HERE, "Daily Report")
    with pytest.raises(NotFound):
        world.app.plans.delete(HERE, "plan_1")
    with pytest.raises(NotFound):
        world.app.plans.get(HERE, "plan_1")


def test_operators_cancel_by_id() -> None:
    world = World()
    plan = set_plan(world)
    assert world.app.plans.delete(HERE, plan.id).status == "canceled"
    assert world.app.plans.delete(HERE, plan.id).status == "canceled"


# ---------------------------------------------------------------------- effects of runs


def test_retried_effect_returns_the_plan_with_its_first_time() -> None:
    world = World()
    first = set_plan(world, run_after="1 hour", effect="run:1:1")
    world.clock.advance(600)
    assert set_plan(world, run_after="1 hour", effect="run:1:1") == first
    assert live(world.app.plans, HERE) == (first,)
    assert set_plan(world, run_after="1 hour", effect="run:2:1").next_at != first.next_at


def test_effects_that_undo_each_other_can_all_be_retried() -> None:
    world = World()
    plans = world.app.plans
    set_plan(world, instruction="Old")

    def effects() -> None:
        plans.cancel(HERE, "Daily Report", effect="run:1:1")
        set_plan(world, run_after="1 hour", instruction="New", effect="run:1:2")

    effects()
    [plan] = live(plans, HERE)
    effects()
    assert live(plans, HERE) == (plan,)
    assert plan.instruction == "New"


def test_a_retried_effect_does_not_revive_a_plan_that_has_fired_since() -> None:
    world = World()
    world.agent()
    set_plan(world, run_after="1 minute", effect="run:1:1")
    world.clock.advance(60)
    assert world.tick() == 1
    set_plan(world, run_after="1 minute", effect="run:1:1")
    assert live(world.app.plans, HERE) == ()


def test_a_plan_that_fires_while_it_is_replaced_does_not_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.agent()
    set_plan(world, run_after="1 minute")
    world.clock.advance(60)
    strike_before(monkeypatch, world, world.tick)
    plan = set_plan(world, run_after="1 day")
    assert live(world.app.plans, HERE) == (plan,)
    assert plan.version == 3
    assert "ENDED#PLAN" not in keys(world)


def strike_before(
    monkeypatch: pytest.MonkeyPatch, world: World, happen: Callable[[], object]
) -> None:
    """Let something happen just before the next transaction."""
    real = world.table.transact

    def racing(writes: Any) -> None:
        monkeypatch.setattr(world.table, "transact", real)
        happen()
        real(writes)

    monkeypatch.setattr(world.table, "transact", racing)


# ---------------------------------------------------------------------- who sees them


def test_a_private_plan_is_shown_and_canceled_only_where_all_were_there() -> None:
    world = World()
    plan = set_plan(world, owner=PRIVATE)
    scopes = ("user:usr_ann", None)
    ann = Audience(open=False, people=("usr_ann",))
    both = Audience(open=False, people=("usr_ann", "usr_ben"))
    for readers in (both, OPEN):
        elsewhere = Reach(tenant=TENANT, agent_id="agt_a", scopes=scopes, readers=readers)
        assert live(world.app.plans, elsewhere) == ()
        with pytest.raises(NotFound):
            world.app.plans.cancel(elsewhere, plan.name)
    with_ann = Reach(tenant=TENANT, agent_id="agt_a", scopes=scopes, readers=ann)
    assert live(world.app.plans, with_ann) == (plan,)
    assert world.app.plans.cancel(with_ann, plan.name).status == "canceled"
