"""The waiting work of a tenant, counted from the due index."""

from datetime import timedelta

import pytest

from skein.models.common.storage import Put
from skein.models.outbox.due import due_pointer
from skein.planning.models.plan import Plan
from skein.services.outbox.backlogs import Backlog, Backlogs
from tests.support.builders import TENANT, World, bot, person

HUSAM, COACH = person(), bot()


def group(tenant: str = TENANT) -> World:
    world = World()
    world.agent(reply_mode="tools")
    world.chat(HUSAM, COACH, kind="group")
    return world


def of(world: World, kind: str, tenant: str = TENANT) -> Backlog:
    [found] = [each for each in world.app.get(Backlogs).of_tenant(tenant) if each.kind == kind]
    return found


def add_due(world: World, tenant: str, number: int, minutes: float) -> None:
    """Add an item with a due pointer of a plan."""
    key = Plan.key_of(tenant, "agt_a", None, f"pln_{number}")
    at = world.clock.now() + timedelta(minutes=minutes)
    world.table.write(Put(key, due_pointer("plan", key, at)))


def test_backlog_without_work_is_empty_and_complete() -> None:
    backlogs = World().app.get(Backlogs).of_tenant(TENANT)
    assert all(each.later == each.due == 0 and each.complete for each in backlogs)


def test_backlog_counts_a_queued_run_by_its_status() -> None:
    world = group()
    world.post("Hello", HUSAM)
    runs = of(world, "run")
    assert (runs.later, runs.due, dict(runs.statuses)) == (1, 0, {"queued": 1})
    world.clock.advance(3_600)
    runs = of(world, "run")
    assert (runs.later, runs.due, runs.overdue) == (0, 1, 1)
    assert runs.oldest_due_at is not None
    world.tick()
    world.drain()
    assert of(world, "run").due == 0


def test_backlog_counts_due_and_overdue_work() -> None:
    world = World()
    for number, minutes in enumerate((-30, -6, -4, 0, 10)):
        add_due(world, TENANT, number, minutes)
    plans = of(world, "plan")
    assert (plans.later, plans.due, plans.overdue) == (1, 4, 2)
    assert plans.oldest_due_at == world.clock.now() - timedelta(minutes=30)


@pytest.mark.parametrize("other", ["other", f"{TENANT}2", "ac"])
def test_backlog_leaves_out_other_tenants(other: str) -> None:
    world = World()
    for number in range(20):
        add_due(world, other, number, -10)
    assert of(world, "plan").due == 0
    assert of(world, "plan", other).due == 20


def test_backlog_over_the_limit_is_incomplete_and_bounded() -> None:
    world = World()
    for number in range(1_000):
        add_due(world, "other", number, -10)
    add_due(world, TENANT, 1, -20)
    world.table.log = []
    plans = of(world, "plan")
    assert (plans.due, plans.complete) == (1, False)
    assert of(world, "run").complete
    assert sum(call.items for call in world.table.log) <= 2 * 8 * 100
