"""Memories: made once, kept from those who were not there, never quite gone."""

from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Conflict, NotFound, Unprocessable
from skein.memory.memories import memory_id_of
from skein.memory.models.memory import JOURNAL_DAYS, KEPT_DAYS, REFLECTION_LEAD
from skein.models.common.base import rfc3339
from skein.models.common.storage import Check, Exists, Key, Missing, Put, Query
from skein.models.items.agent_item import REVISION
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Actor
from skein.models.visibility.provenance import NO_AUTHORS, MadeFrom
from tests.support.builders import NOON, TENANT, World
from tests.support.fakes import MeanwhileTable
from tests.support.memories import OWNER, add, live, reach

SHOWN = timedelta(days=JOURNAL_DAYS)
HOLDS = Check(Key("nowhere", "META"), Missing())
FAILS = Check(Key("nowhere", "META"), Exists())

ANN_AND_BEN = Audience(open=False, people=("usr_ann", "usr_ben"))
PRIVATE = OWNER.model_copy(update={"scope": "chat:chat_1", "audience": ANN_AND_BEN})


def keys(world: World) -> list[str]:
    items = world.table.query(Query(f"{TENANT}#AGENT#agt_a")).items
    return [item["sk"] for item in items if item["sk"] != REVISION]


# ---------------------------------------------------------------------- add


def test_added_memory_has_its_source() -> None:
    world = World()
    made_from = MadeFrom.messages("chat_1", 2, 5, ["usr_ann"])
    source = {"source_chat_id": "chat_1", "source_run_id": "run_1_chat_1", "made_from": made_from}
    owner = OWNER.model_copy(update=source)
    memory = add(world, " Ann likes tea ", owner=owner)
    assert world.app.memories.live(OWNER.reach) == [memory]
    assert (memory.text, memory.kind, memory.made_by) == ("Ann likes tea", "core", "tool")
    assert (memory.source_chat_id, memory.made_from) == ("chat_1", made_from)
    assert (memory.audience, memory.created_at, memory.fades_at) == (OPEN, NOON, None)


def test_a_journal_entry_fades_after_its_days_and_is_stored_for_some_more() -> None:
    world = World()
    memory = add(world, kind="journal")
    assert memory.fades_at == NOON + SHOWN
    item = world.table.get(memory.key) or {}
    assert item["expires_at"] == int((NOON + SHOWN + timedelta(days=KEPT_DAYS)).timestamp())
    assert item["gsi2sk"].startswith(f"{rfc3339(memory.fades_at - REFLECTION_LEAD)}#")
    world.clock.advance(SHOWN.total_seconds() - 1)
    assert live(world) == ["Ann likes tea"]
    world.clock.advance(1)
    assert live(world) == []


@pytest.mark.parametrize("kind", ["core", "journal"])
def test_retry_does_not_restore_a_forgotten_memory(kind: str) -> None:
    world = World()
    add(world, memory_id="mem_1", kind=kind)
    forgotten = world.app.memories.forget(OWNER.reach, "mem_1")
    assert add(world, memory_id="mem_1", kind=kind) == forgotten
    assert live(world) == []


def test_forgotten_memory_can_be_added_again() -> None:
    world = World()
    world.app.memories.forget(OWNER.reach, add(world).id)
    add(world)
    assert live(world) == ["Ann likes tea"]


@pytest.mark.parametrize("text", ["", "  ", "x" * 10_001, "a \ud800"])
def test_texts_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(Unprocessable):
        add(World(), text)


def test_a_double_is_the_memory_that_is_there() -> None:
    world = World()
    first = add(world)
    for kind in ("core", "journal"):
        assert add(world, "ann likes TEA!", kind=kind) == first
    assert live(world) == ["Ann likes tea"]


def test_core_memory_supersedes_a_journal_entry_and_a_constitutional_one_both() -> None:
    world = World()
    note = add(world, kind="journal")
    core = add(world, kind="core")
    assert world.app.memories.get(OWNER.reach, note.id).superseded_by == core.id
    law = add(world, constitutional=True)
    assert world.app.memories.get(OWNER.reach, core.id).superseded_by == law.id
    assert add(world, constitutional=True) == add(world) == law
    assert live(world) == ["Ann likes tea"]


def test_a_faded_entry_is_no_double() -> None:
    world = World()
    add(world, kind="journal")
    world.clock.advance(SHOWN.total_seconds())
    add(world, kind="journal")
    assert live(world) == ["Ann likes tea"]
    assert len(keys(world)) == 2


def test_concurrent_adds_of_the_same_text_store_one_memory() -> None:
    table = MeanwhileTable()
    world = World(overrides={"table": table})
    world.table = table
    table.before = ("FACT#", lambda: add(world))
    added = world.app.memories.add(OWNER, "ann likes tea", "core", made_by="tool")
    assert added.known
    assert live(world) == ["Ann likes tea"]


def test_the_id_of_an_effect_is_the_same_on_every_attempt_and_in_the_order_of_time() -> None:
    one, other = (memory_id_of(effect, NOON) for effect in ("run_1:1:0", "run_1:1:1"))
    assert one == memory_id_of("run_1:1:0", NOON)
    assert one != other
    assert one[:14] == other[:14]
    assert len(one) == len("mem_") + 26
    assert max(one, other) < memory_id_of("run_1:1:0", NOON + timedelta(milliseconds=1))


# ---------------------------------------------------------------------- removed and brought back


def test_removed_memory_is_hidden_and_restored_unchanged() -> None:
    world = World()
    memory = add(world)
    world.clock.advance(60)
    gone = world.app.memories.delete(OWNER.reach, memory.id)
    assert gone.ended_at == world.clock.now()
    assert live(world) == []
    assert keys(world) == [f"ENDED#FACT#2#{memory.id}"]
    world.clock.advance(60)
    assert world.app.memories.delete(OWNER.reach, memory.id) == gone
    back = world.app.memories.restore(OWNER.reach, memory.id)
    assert back == memory.model_copy(update={"version": 3})
    assert live(world) == ["Ann likes tea"]
    assert world.app.memories.restore(OWNER.reach, memory.id) == back


def test_superseded_memory_can_be_restored_beside_its_successor() -> None:
    world = World()
    note = add(world, kind="journal")
    add(world, kind="core")
    back = world.app.memories.restore(OWNER.reach, note.id)
    assert (back.superseded_by, back.live) == (None, True)
    assert live(world) == ["Ann likes tea"] * 2


def test_a_faded_entry_that_is_brought_back_is_on_record_and_not_remembered() -> None:
    world = World()
    note = add(world, kind="journal")
    world.app.memories.delete(OWNER.reach, note.id)
    world.clock.advance(SHOWN.total_seconds())
    assert world.app.memories.restore(OWNER.reach, note.id).fades_at == note.fades_at
    assert live(world) == []


@pytest.mark.parametrize("constitutional", [True, False])
def test_only_operators_can_remove_their_memories(constitutional: bool) -> None:
    world = World()
    law = add(world, made_by="api", constitutional=constitutional)
    actor = Actor(chat_id="chat_1", authors=NO_AUTHORS, outsiders=False)
    agents = OWNER.reach.model_copy(update={"readers": OPEN, "actor": actor})
    with pytest.raises(Conflict, match="only operators"):
        world.app.memories.forget(agents, law.id)
    assert live(world) == ["Ann likes tea"]
    world.app.memories.delete(OWNER.reach, law.id)
    assert live(world) == []


def test_deleted_journal_entry_is_not_in_the_due_index() -> None:
    world = World()
    note = add(world, kind="journal")
    gone = world.app.memories.delete(OWNER.reach, note.id)
    assert "gsi2pk" not in (world.table.get(gone.key) or {})
    back = world.app.memories.restore(OWNER.reach, note.id)
    assert "gsi2pk" in (world.table.get(back.key) or {})


def test_a_memory_that_is_not_there_is_not_found() -> None:
    memories = World().app.memories
    for ask in (memories.get, memories.forget, memories.delete, memories.restore):
        with pytest.raises(NotFound):
            ask(OWNER.reach, "mem_1")


# ---------------------------------------------------------------------- lists


def _all(world: World, limit: int = 50, **wanted: Any) -> list[str]:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = world.app.memories.list(OWNER.reach, limit=limit, cursor=cursor, **wanted)
        seen += [memory.text for memory in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return seen


def _various(world: World) -> None:
    for text, fields in (
        ("Faded", {"kind": "journal"}),
        ("Core", {}),
        ("Law", {"constitutional": True}),
        ("Gone", {"memory_id": "mem_gone"}),
        ("Gone note", {"kind": "journal", "memory_id": "mem_note"}),
    ):
        add(world, text, **fields)
    for memory_id in ("mem_gone", "mem_note"):
        world.app.memories.delete(OWNER.reach, memory_id)
    world.clock.advance(SHOWN.total_seconds())
    add(world, "Note", kind="journal")


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["Law", "Core", "Faded", "Note", "Gone", "Gone note"]),
        ({"status": "live"}, ["Law", "Core", "Note"]),
        ({"status": "ended"}, ["Faded", "Gone", "Gone note"]),
        ({"kind": "core"}, ["Law", "Core", "Gone"]),
        ({"kind": "journal"}, ["Faded", "Note", "Gone note"]),
        ({"kind": "core", "status": "live"}, ["Law", "Core"]),
        ({"kind": "core", "status": "ended"}, ["Gone"]),
        ({"kind": "journal", "status": "live"}, ["Note"]),
        ({"kind": "journal", "status": "ended"}, ["Faded", "Gone note"]),
    ],
)
def test_pages_hold_every_memory_that_is_wanted_once(
    limit: int, wanted: dict[str, str], found: list[str]
) -> None:
    world = World()
    _various(world)
    assert _all(world, limit, **wanted) == found


# ---------------------------------------------------------------------- audience


def test_a_private_memory_is_shown_only_where_all_were_there() -> None:
    world = World()
    add(world, "Open")
    add(world, "Private", owner=PRIVATE)
    assert set(live(world, reach("usr_ann"))) == {"Open", "Private"}
    assert live(world, reach("usr_ann", "usr_cem")) == ["Open"]
    assert live(world, reach("usr_ann").model_copy(update={"readers": OPEN})) == ["Open"]
    assert live(world) == ["Open"]


def test_memory_that_may_not_be_shown_cannot_be_read_or_forgotten() -> None:
    world = World()
    memory = add(world, owner=PRIVATE)
    for where in (reach("usr_cem"), reach("usr_ann").model_copy(update={"readers": OPEN})):
        for ask in (world.app.memories.get, world.app.memories.forget):
            with pytest.raises(NotFound):
                ask(where, memory.id)
    assert world.app.memories.forget(reach("usr_ann", "usr_ben"), memory.id).ended_at == NOON


def test_a_memory_that_may_not_be_shown_is_no_double_either() -> None:
    """Else whoever is there would learn from the answer that it is remembered."""
    world = World()
    add(world, owner=PRIVATE)
    here = reach("usr_ann", "usr_cem")
    everybody = Audience(open=False, people=("usr_ann", "usr_cem"))
    owner = PRIVATE.model_copy(update={"audience": everybody})
    added = world.app.memories.add(owner, "Ann likes tea", "core", made_by="tool", reach=here)
    assert not added.known
    assert live(world, here) == ["Ann likes tea"]
    assert set(live(world, reach("usr_ben"))) == {"Ann likes tea"}


def test_unknown_stored_attributes_are_ignored() -> None:
    world = World()
    memory = add(world)
    world.table.write(Put(memory.key, memory.to_item() | {"mood": "glad"}))
    assert world.app.memories.live(OWNER.reach) == [memory]
