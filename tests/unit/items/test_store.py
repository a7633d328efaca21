"""The store of agents' items: what holds for each kind."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

from local.template import ROOT
from skein.errors import Conflict, LostLease, NotFound
from skein.models.common.storage import Check, Exists, Key, Missing, Put, Query
from skein.models.items.agent_item import REVISION, AgentItem
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Actor, Owner, Reach
from skein.models.visibility.provenance import MANY, NO_AUTHORS, Authors
from skein.planning.api import GoalChange, PlanChange
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.privacy.made_items import ENTITIES
from skein.services.items.store import OwnedStore, Snapshot, replaced
from skein.settings import Settings
from skein.workspace import thread_changes
from skein.workspace.document_edits import OPERATOR, Author
from skein.workspace.models.document import MAX_PINNED, DocumentReach, Folder
from skein.workspace.models.thread import Thread
from tests.support.builders import NOON, TENANT, World, live
from tests.support.fakes import MeanwhileTable

OWNER = Owner(tenant=TENANT, agent_id="agt_a")
REACH = OWNER.reach
HOLDS = Check(Key("nowhere", "META"), Missing())
FAILS = Check(Key("nowhere", "META"), Exists())
MAX_THREADS = 10
MOST = 10  # goals and plans; usually, these limits are ten times higher


class Kind(NamedTuple):
    """One kind of items, and how its callers use the store.

    Attributes:
        add: Adds an item by its number; the same number is the same effect of a run.
        end: Ends an item as an agent does, within a reach.
        restore: Makes an ended item live again.
        deleted: Whether a deleted item is gone; it is kept as ended otherwise.
        limit: The maximum number of live items; None without one.
    """

    store: Callable[[World], OwnedStore[Any]]
    add: Callable[[World, int, Check | None], AgentItem]
    end: Callable[..., AgentItem]
    restore: Callable[[World, AgentItem], AgentItem]
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


def end_memory(
    world: World, item: AgentItem, guard: Check | None, reach: Reach = REACH
) -> AgentItem:
    return world.app.memories.forget(reach, item.id, guard=guard)


def end_goal(world: World, item: AgentItem, guard: Check | None, reach: Reach = REACH) -> AgentItem:
    return world.app.goals.end(reach, item.id, "completed", guard=guard)


def end_plan(world: World, item: AgentItem, guard: Check | None, reach: Reach = REACH) -> AgentItem:
    plan = world.app.plans.get(REACH, item.id)
    return world.app.plans.cancel(reach, plan.name, effect=f"end {item.id}", guard=guard)


def end_thread(
    world: World, item: AgentItem, guard: Check | None, reach: Reach = REACH
) -> AgentItem:
    author = Author(effect=f"end {item.id}", guard=guard)
    end = thread_changes.ended("archived", NOON)
    return world.app.threads.change(reach, item.id, end, author=author)


def restore_plan(world: World, item: AgentItem) -> AgentItem:
    return world.app.plans.change(REACH, item.id, PlanChange(status="active"))


def restore_thread(world: World, item: AgentItem) -> AgentItem:
    return world.app.threads.revise(REACH, item.id, {"status": "open"})


KINDS = {
    "memory": Kind(
        lambda world: world.app.memories,
        add_memory,
        end_memory,
        lambda world, item: world.app.memories.restore(REACH, item.id),
        deleted=False,
        limit=None,
    ),
    "goal": Kind(
        lambda world: world.app.goals,
        add_goal,
        end_goal,
        lambda world, item: world.app.goals.change(REACH, item.id, GoalChange(status="active")),
        deleted=True,
        limit=MOST,
    ),
    "plan": Kind(
        lambda world: world.app.plans,
        add_plan,
        end_plan,
        restore_plan,
        deleted=False,
        limit=MOST,
    ),
    "thread": Kind(
        lambda world: world.app.threads,
        add_thread,
        end_thread,
        restore_thread,
        deleted=True,
        limit=MAX_THREADS,
    ),
}


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skein.planning.goals.MAX_GOALS", MOST)
    monkeypatch.setattr("skein.planning.plans.MAX_PLANS", MOST)


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
    without_store = {
        "OwnWordsMemory"
    }  # a task makes them in its own transaction; nothing edits them
    assert {kind.lower() for kind in kinds - without_store} == KINDS.keys()
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


def test_restored_item_is_live_again(kind: Kind) -> None:
    world = World()
    item = kind.add(world, 1, None)
    kind.end(world, item, None)
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
    if kind.limit is None:
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


ANN, BEN, EVE = "usr_ann", "usr_ben", "usr_eve"
BOTH = Audience(open=False, people=(ANN, BEN))
ALONE = Audience(open=False, people=(ANN,))


def actor(*authors: str, chat_id: str | None = "chat_1", outsiders: bool = False) -> Actor:
    return Actor(chat_id=chat_id, authors=Authors.in_digests(authors), outsiders=outsiders)


WORK = "runs work on an operator's"
RIGHTS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "operators change all": ({"by_operator": True}, {}, True),
    WORK: (
        {"by_operator": True, "source_chat_id": "chat_1"},
        {"readers": OPEN, "actor": actor()},
        False,
    ),
    "an operator's, with words of outsiders": (
        {"by_operator": True, "source_chat_id": "chat_1"},
        {"readers": OPEN, "actor": actor(ANN, outsiders=True)},
        False,
    ),
    "a private one of an operator": (
        {"by_operator": True, "audience": BOTH},
        {"readers": BOTH},
        False,
    ),
    "its people change a private one": ({"audience": BOTH}, {"readers": BOTH}, True),
    "one of them does, where the other is not there": (
        {"audience": BOTH},
        {"readers": BOTH, "content": ALONE},
        False,
    ),
    "private words, an open one": (
        {"source_chat_id": "chat_1"},
        {"readers": ALONE, "actor": actor(ANN)},
        False,
    ),
    "in its chat": ({"source_chat_id": "chat_1"}, {"readers": OPEN, "actor": actor(EVE)}, True),
    "in its chat, with words of outsiders": (
        {"source_chat_id": "chat_1"},
        {"readers": OPEN, "actor": actor(ANN, EVE, outsiders=True)},
        False,
    ),
    "in its chat, with words of outsiders that it has, too": (
        {"source_chat_id": "chat_1"},
        {"readers": OPEN, "actor": actor(ANN, BEN, outsiders=True)},
        True,
    ),
    "elsewhere, by its authors": (
        {"source_chat_id": "chat_1"},
        {"readers": OPEN, "actor": actor(BEN, chat_id="chat_2")},
        True,
    ),
    "elsewhere, by another, too": (
        {"source_chat_id": "chat_1"},
        {"readers": OPEN, "actor": actor(BEN, EVE, chat_id="chat_2")},
        False,
    ),
    "elsewhere, by many": (
        {"source_chat_id": "chat_1"},
        {"readers": OPEN, "actor": Actor(chat_id="chat_2", authors=MANY, outsiders=False)},
        False,
    ),
    "elsewhere, one of many": (
        {"source_chat_id": "chat_1", "authors": MANY},
        {"readers": OPEN, "actor": actor(BEN, chat_id="chat_2")},
        False,
    ),
    "elsewhere, with words of outsiders": (
        {"source_chat_id": "chat_1"},
        {"readers": OPEN, "actor": actor(ANN, BEN, chat_id="chat_2", outsiders=True)},
        False,
    ),
    "of no chat, by its authors": (
        {},
        {"readers": OPEN, "actor": actor(ANN, chat_id=None)},
        True,
    ),
    "of no chat, with words of outsiders": (
        {},
        {"readers": OPEN, "actor": actor(ANN, chat_id=None, outsiders=True)},
        False,
    ),
    "of no chat, nobody's by nobody's words": (
        {"authors": NO_AUTHORS},
        {"readers": OPEN, "actor": actor(chat_id=None)},
        True,
    ),
    "of no chat, somebody's by nobody's words": (
        {},
        {"readers": OPEN, "actor": actor(chat_id=None)},
        False,
    ),
    "of no chat, by another": (
        {"authors": NO_AUTHORS},
        {"readers": OPEN, "actor": actor(ANN, chat_id=None)},
        False,
    ),
    "by somebody unknown": ({"source_chat_id": "chat_1"}, {"readers": OPEN}, False),
}


@pytest.mark.parametrize("case", RIGHTS)
def test_item_is_ended_only_by_those_with_the_right_to_it(kind: Kind, case: str) -> None:
    fields, within, allowed = RIGHTS[case]
    world = World()
    made = kind.add(world, 1, None)
    allowed = allowed or (case == WORK and made.WORKED_ON)
    given = {"authors": Authors.in_digests([ANN, BEN])} | fields
    item = made.model_copy(update=given)
    world.table.transact(replaced(made, item))
    reach = REACH.model_copy(update=within)
    if allowed:
        assert not kind.end(world, item, None, reach).live
        return
    with pytest.raises(Conflict, match="only operators" if item.by_operator else "not changed"):
        kind.end(world, item, None, reach)
    assert kind.store(world).get(REACH, item.id).live


@pytest.mark.parametrize("case", RIGHTS)
def test_document_is_changed_only_by_those_with_the_right_to_it(case: str) -> None:
    fields, within, allowed = RIGHTS[case]
    world = World()
    folder = Folder(tenant=TENANT, agent_id="agt_a")
    given = {"authors": Authors.in_digests([ANN, BEN])} | fields
    reach = DocumentReach(folders=(folder,))
    documents = world.app.documents
    documents.write(reach, "plan", "One", new_in=folder, author=Author(**given))
    reach = reach.model_copy(update=within)
    if allowed or case == WORK:
        assert documents.write(reach, "plan", "Two", author=Author()).change == "changed"
    if case == WORK:
        with pytest.raises(Conflict, match="only operators"):
            documents.delete(reach, "plan", author=Author())
        return
    if allowed:
        assert documents.delete(reach, "plan", author=Author()).change == "deleted"
        return
    for change in (documents.delete, partial(documents.write, text="Two")):
        with pytest.raises(Conflict, match=r"only operators|not changed"):
            change(reach, "plan", author=Author())


def test_items_of_people_leave_operators_their_limit(kind: Kind) -> None:
    if kind.limit is None:
        return
    world = World(Settings(max_open_threads=MAX_THREADS))
    for n in range(kind.limit):
        kind.add(world, n, None)
    with pytest.raises(Conflict, match=f"already {kind.limit} "):
        kind.add(world, 998, None)
    mine = OWNER.model_copy(update={"by_operator": True})
    for n in range(kind.limit):
        OPERATORS[kind.store(world).kind](world, mine, f"Mine {n}")
    with pytest.raises(Conflict, match=f"already {kind.limit} "):
        OPERATORS[kind.store(world).kind](world, mine, "One more")


OPERATORS: dict[type[AgentItem], Callable[[World, Owner, str], AgentItem]] = {
    Goal: lambda world, owner, text: world.app.goals.set(owner, text),
    Plan: lambda world, owner, text: world.app.plans.set(owner, text, "Go", run_after="1 day"),
    Thread: lambda world, owner, text: world.app.threads.create(owner, {"concern": text}),
}


def test_pinned_documents_of_people_leave_operators_their_limit() -> None:
    world = World()
    folder = Folder(tenant=TENANT, agent_id="agt_a")
    reach = DocumentReach(folders=(folder,))

    def pin(name: str, author: Author) -> None:
        documents = world.app.documents
        documents.write(reach, name, "Text", new_in=folder, pinned=True, author=author)

    for author in (Author(), OPERATOR):
        for n in range(MAX_PINNED):
            pin(f"{author.by_operator} {n}", author)
        with pytest.raises(Conflict, match="already 5 documents"):
            pin("one more", author)


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
