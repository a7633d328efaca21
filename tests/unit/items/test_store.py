"""The store of agents' items: what holds for each kind."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from local.template import ROOT
from skein.errors import Conflict, LostLease, NotFound
from skein.models.common.agent_item import REVISION, AgentItem
from skein.models.common.ownership import Owner
from skein.models.common.storage import Check, Exists, Key, Missing, Put, Query
from skein.planning.api import GoalChange
from skein.planning.models.goal import MAX_GOALS
from skein.planning.models.plan import MAX_PLANS
from skein.privacy.made_items import ENTITIES
from skein.services.items.store import OwnedStore, Snapshot, replaced
from skein.settings import Settings
from skein.workspace import thread_changes
from skein.workspace.document_edits import Author
from tests.support.builders import NOON, TENANT, World, live
from tests.support.fakes import MeanwhileTable

OWNER = Owner(tenant=TENANT, agent_id="agt_a")
REACH = OWNER.reach
HOLDS = Check(Key("nowhere", "META"), Missing())
FAILS = Check(Key("nowhere", "META"), Exists())
MAX_THREADS = 10


class Kind(NamedTuple):
    """One kind of items, and how its callers use the store.

    Attributes:
        add: Adds an item by its number; the same number is the same effect of a run.
        end: Ends an item as an agent does.
        restore: Makes an ended item live again; None if that cannot be done.
        deleted: Whether a deleted item is gone; it is kept as ended otherwise.
        limit: The maximum number of live items; None without one.
    """

    store: Callable[[World], OwnedStore[Any]]
    add: Callable[[World, int, Check | None], AgentItem]
    end: Callable[[World, AgentItem, Check | None], AgentItem]
    restore: Callable[[World, AgentItem], AgentItem] | None
    deleted: bool
    limit: int | None


def add_memory(world: World, n: int, guard: Check | None) -> AgentItem:
    memories = world.app.memories
    more: dict[str, Any] = {"memory_id": f"mem_{n:03d}", "guard": guard}
    return memories.add(OWNER, f"Fact {n}", "core", made_by="tool", **more).memory


def add_goal(world: World, n: int, guard: Check | None) -> AgentItem:
    return world.app.goals.set(OWNER, f"Aim {n}", goal_id=f"goal_{n:03d}", guard=guard)


def add_plan(world: World, n: int, guard: Check | None) -> AgentItem:
    more: dict[str, Any] = {"run_after": "1 day", "effect": f"set {n}", "guard": guard}
    return world.app.plans.set(OWNER, f"Plan {n}", "Go", **more)


def add_thread(world: World, n: int, guard: Check | None) -> AgentItem:
    more: dict[str, Any] = {"thread_id": f"thr_{n:03d}", "author": Author(guard=guard)}
    return world.app.threads.create(OWNER, {"concern": f"Thread {n}"}, **more)


def end_plan(world: World, item: AgentItem, guard: Check | None) -> AgentItem:
    plan = world.app.plans.get(REACH, item.id)
    return world.app.plans.cancel(REACH, plan.name, effect=f"end {item.id}", guard=guard)


def end_thread(world: World, item: AgentItem, guard: Check | None) -> AgentItem:
    author = Author(effect=f"end {item.id}", guard=guard)
    end = thread_changes.ended("archived", NOON)
    return world.app.threads.change(REACH, item.id, end, author=author)


KINDS = {
    "memory": Kind(
        lambda world: world.app.memories,
        add_memory,
        lambda world, item, guard: world.app.memories.forget(REACH, item.id, guard=guard),
        lambda world, item: world.app.memories.restore(REACH, item.id),
        deleted=False,
        limit=None,
    ),
    "goal": Kind(
        lambda world: world.app.goals,
        add_goal,
        lambda world, item, guard: world.app.goals.end(REACH, item.id, "completed", guard=guard),
        lambda world, item: world.app.goals.change(REACH, item.id, GoalChange(status="active")),
        deleted=True,
        limit=MAX_GOALS,
    ),
    "plan": Kind(
        lambda world: world.app.plans,
        add_plan,
        end_plan,
        lambda world, item: world.app.plans.set(OWNER, "Plan 1", "Go", run_after="1 day"),
        deleted=False,
        limit=MAX_PLANS,
    ),
    "thread": Kind(
        lambda world: world.app.threads,
        add_thread,
        end_thread,
        None,
        deleted=True,
        limit=MAX_THREADS,
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def racing() -> tuple[World, MeanwhileTable]:
    table = MeanwhileTable()
    world = World(Settings(max_open_threads=MAX_THREADS), overrides={"table": table})
    world.table = table
    return world, table


def keys(world: World) -> list[str]:
    items = world.table.query(Query(f"{TENANT}#AGENT#agt_a")).items
    return [item["sk"] for item in items if not item["sk"].startswith((REVISION, "EFFECT#"))]


def test_each_kind_of_item_is_tested_here_and_found_by_its_source_chat() -> None:
    sources = (ROOT / "shared" / "skein").rglob("*.py")
    header = re.compile(r"^class (\w+)\([\w, ]*\bAgentItem\)", re.MULTILINE)
    kinds = {name for path in sources for name in header.findall(path.read_text(encoding="utf-8"))}
    assert {kind.lower() for kind in kinds} == KINDS.keys()
    assert kinds <= {entity.__name__ for entity in ENTITIES}


def test_item_that_is_added_twice_is_stored_once(kind: Kind) -> None:
    world = World()
    item = kind.add(world, 1, None)
    world.clock.advance(60)
    assert kind.add(world, 1, None) == item
    assert keys(world) == [item.key.sk]
    ended = kind.end(world, item, None)
    kind.add(world, 1, None)
    assert keys(world) == [ended.key.sk]


def test_item_that_another_writer_adds_meanwhile_is_stored_once(kind: Kind) -> None:
    world, table = racing()
    table.before = (kind.store(world).kind.PREFIX, lambda: kind.add(world, 1, None))
    item = kind.add(world, 1, None)
    assert keys(world) == [item.key.sk]
    assert item.version == 1


def test_item_that_another_writer_adds_and_ends_meanwhile_does_not_come_back(kind: Kind) -> None:
    world, table = racing()

    def meanwhile() -> None:
        kind.end(world, kind.add(world, 1, None), None)

    table.before = (kind.store(world).kind.PREFIX, meanwhile)
    kind.add(world, 1, None)
    assert live(kind.store(world), REACH) == ()


def test_change_of_a_stale_version_is_made_on_the_newer_one(kind: Kind) -> None:
    world, table = racing()
    item = kind.add(world, 1, None)

    def meanwhile() -> None:
        table.transact(replaced(item, item.model_copy(update={"source_run_id": "run_2_chat_1"})))

    table.before = (item.id, meanwhile)
    ended = kind.end(world, item, None)
    assert (ended.version, ended.source_run_id, ended.live) == (3, "run_2_chat_1", False)
    assert kind.store(world).get(REACH, item.id) == ended


def test_item_that_ends_twice_ends_once_and_leaves_the_live_ones(kind: Kind) -> None:
    world = World()
    item = kind.add(world, 1, None)
    ended = kind.end(world, item, None)
    world.clock.advance(60)
    assert kind.end(world, item, None) == ended
    assert (ended.version, ended.ended_at, ended.live) == (2, NOON, False)
    assert keys(world) == [ended.key.sk]
    assert ended.key.sk == f"ENDED#{item.key.sk}"
    assert kind.store(world).get(REACH, item.id) == ended


def test_restored_item_is_live_again_unless_its_kind_forbids_it(kind: Kind) -> None:
    world = World()
    item = kind.add(world, 1, None)
    kind.end(world, item, None)
    if kind.restore is None:
        return
    back = kind.restore(world, item)
    assert (back.id, back.version, back.live, back.ended_at) == (item.id, 3, True, None)
    assert keys(world) == [item.key.sk]


def test_deleted_item_is_gone_or_kept_as_ended(kind: Kind) -> None:
    world = World()
    item = kind.add(world, 1, None)
    kind.store(world).delete(REACH, item.id)
    assert live(kind.store(world), REACH) == ()
    if not kind.deleted:
        assert not kind.store(world).get(REACH, item.id).live
        return
    with pytest.raises(NotFound):
        kind.store(world).get(REACH, item.id)
    with pytest.raises(NotFound):
        kind.store(world).delete(REACH, item.id)


def test_limit_holds_if_two_writers_add_at_once(kind: Kind) -> None:
    if kind.limit is None:
        return
    world, table = racing()
    for n in range(1, kind.limit):
        kind.add(world, n, None)
    table.before = (kind.store(world).kind.PREFIX, lambda: kind.add(world, 998, None))
    with pytest.raises(Conflict, match=f"already {kind.limit} "):
        kind.add(world, 999, None)
    assert len(keys(world)) == kind.limit


def test_limit_holds_if_a_writer_restores_while_another_adds(kind: Kind) -> None:
    if kind.limit is None or kind.restore is None:
        return
    world, table = racing()
    item = kind.add(world, 1, None)
    kind.end(world, item, None)
    for n in range(2, kind.limit + 1):
        kind.add(world, n, None)
    table.before = (kind.store(world).kind.PREFIX, lambda: kind.add(world, 998, None))
    with pytest.raises(Conflict, match=f"already {kind.limit} "):
        kind.restore(world, item)


def test_worker_that_lost_its_lease_writes_nothing(kind: Kind) -> None:
    world = World()
    with pytest.raises(LostLease):
        kind.add(world, 1, FAILS)
    assert keys(world) == []
    item = kind.add(world, 1, HOLDS)
    with pytest.raises(LostLease):
        kind.end(world, item, FAILS)
    assert kind.store(world).get(REACH, item.id) == item
    assert not kind.end(world, item, HOLDS).live


def test_item_of_another_agent_or_tenant_is_not_found(kind: Kind) -> None:
    world = World()
    item = kind.add(world, 1, None)
    for other in ({"tenant": "globex"}, {"agent_id": "agt_b"}, {"scopes": ("user:usr_ann",)}):
        elsewhere = REACH.model_copy(update=other)
        assert live(kind.store(world), elsewhere) == ()
        with pytest.raises(NotFound):
            kind.store(world).get(elsewhere, item.id)


def test_keys_of_an_item_are_all_keys_that_it_may_have(kind: Kind) -> None:
    world = World()
    item = kind.add(world, 1, None)
    ended = kind.end(world, item, None)
    found = Snapshot.read(world.table, type(item), REACH, [item.id])
    possible = type(item).keys_of(TENANT, "agt_a", None, item.id)
    assert {item.key, ended.key} <= set(possible)
    assert found.get(item.id) == ended


def test_pages_hold_the_live_ones_first_and_every_item_once(kind: Kind) -> None:
    world, _ = racing()
    items = [kind.add(world, n, None) for n in range(5)]
    for item in items[:2]:
        kind.end(world, item, None)
    whole = [item.id for item in kind.store(world).list(REACH, limit=50).items]
    assert set(whole[:3]) == {item.id for item in items[2:]}
    for limit in range(1, 7):
        seen, cursor = [], None
        while True:
            page = kind.store(world).list(REACH, limit=limit, cursor=cursor)
            seen += [item.id for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == whole


def test_put_of_a_new_item_never_replaces_another() -> None:
    world = World()
    goal = world.app.goals.set(OWNER, "Aim", goal_id="goal_1")
    found = world.app.goals.read(REACH, ["goal_2"])
    put = found.writes(None, goal)[0]
    assert isinstance(put, Put)
    assert put.condition == Missing()
