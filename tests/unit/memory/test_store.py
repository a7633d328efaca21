"""Remembering: what is known is not stored again, and the outdated gives way, to whom it may."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from skein.memory import store as remembering
from skein.memory.models.memory import JOURNAL_DAYS, Memory
from skein.memory.models.records import KeptCounts
from skein.memory.search import MemorySearch
from skein.memory.store import searchable_memories
from skein.memory.writes import MemoryDraft, MemoryWrites, remember
from skein.models.common.storage import Page, Put, Query
from skein.models.items.agent_item import revision_key, touched
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Actor, Owner, Reach
from skein.models.visibility.provenance import NO_AUTHORS, Authors, MadeFrom, digest_of
from skein.services.common.text_search import EmbeddingCache
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, TENANT, World, embeddings

OWNER = Owner(
    tenant=TENANT,
    agent_id="agt_a",
    made_from=MadeFrom.messages("chat_1", 3, 9, ["usr_ann"]),
    source_chat_id="chat_1",
)
ANN = Audience(open=False, people=("usr_ann",))
ANN_AND_BEN = Audience(open=False, people=("usr_ann", "usr_ben"))
PRIVATE = OWNER.model_copy(update={"scope": "chat:chat_1", "audience": ANN_AND_BEN})
REACH = Reach(tenant=TENANT, agent_id="agt_a", scopes=(None, "chat:chat_1"), readers=ANN_AND_BEN)


def core(text: str, replaces: str | None = None) -> MemoryDraft:
    return MemoryDraft("core", text, replaces)


def journal(text: str) -> MemoryDraft:
    return MemoryDraft("journal", text)


def acting(owner: Owner) -> Reach:
    """The reach of a consolidation of the owner's chat."""
    actor = Actor(chat_id="chat_1", authors=NO_AUTHORS, outsiders=False)
    return owner.reach.model_copy(update={"content": owner.audience, "actor": actor})


def keep(
    world: World,
    *entries: MemoryDraft,
    owner: Owner = OWNER,
    reach: Reach | None = None,
    removed: Sequence[str] = (),
    actor: Actor | None = None,
) -> MemoryWrites:
    done = remember(
        owner,
        entries,
        live(world, reach or owner.reach),
        removed=removed,
        reach=acting(owner) if actor is None else acting(owner).model_copy(update={"actor": actor}),
        revision=touched(owner.tenant, owner.agent_id, owner.scope),
        now=world.clock.now(),
        ids=world.ids,
    )
    if done.writes:
        world.table.transact(done.writes)
    world.clock.advance(1)
    return done


def live(world: World, reach: Reach = OWNER.reach) -> list[Memory]:
    return searchable_memories(world.table, reach, now=world.clock.now())


def texts(memories: Sequence[Memory]) -> list[str]:
    return [memory.text for memory in memories]


def test_stored_memory_names_its_source_messages() -> None:
    world = World()
    assert keep(world, journal("Ann is away"), core("Ann likes tea")).kept == KeptCounts(
        core=1, journal=1
    )
    tea, away = live(world)
    assert (tea.kind, tea.text, tea.made_from) == ("core", "Ann likes tea", OWNER.made_from)
    assert (tea.made_by, tea.source_chat_id, tea.fades_at) == ("consolidation", "chat_1", None)
    assert (away.kind, away.fades_at) == ("journal", NOON + timedelta(days=JOURNAL_DAYS))


def test_empty_change_yields_no_memory_writes() -> None:
    assert keep(World()) == MemoryWrites()


def test_duplicate_memory_is_counted_and_not_stored() -> None:
    world = World()
    keep(world, core("Ann likes tea"), journal("Ann is away"))
    again = keep(world, core("ann likes TEA."), journal("Ann likes tea"), journal("Ann is away!"))
    assert again == MemoryWrites((), KeptCounts(doubles=3))


def test_equal_memories_of_one_answer_are_stored_once() -> None:
    world = World()
    assert keep(world, core("Tea"), core("tea"), journal("TEA")).kept == KeptCounts(
        core=1, doubles=2
    )


def test_a_core_memory_takes_the_place_of_the_same_journal_entry() -> None:
    world = World()
    keep(world, journal("Ann likes tea"))
    [note] = live(world)
    assert keep(world, core("Ann likes tea")).kept == KeptCounts(core=1, superseded=1)
    [memory] = live(world)
    assert memory.kind == "core"
    assert world.app.memories.get(OWNER.reach, note.id).superseded_by == memory.id


def test_replaced_memory_is_superseded_and_stays_on_record() -> None:
    world = World()
    keep(world, core("Ann likes tea"))
    [old] = live(world)
    assert keep(world, core("Ann likes coffee now", old.id)).kept == KeptCounts(
        core=1, superseded=1
    )
    assert texts(live(world)) == ["Ann likes coffee now"]
    kept = world.app.memories.get(OWNER.reach, old.id)
    assert (kept.text, kept.live, kept.version) == ("Ann likes tea", False, 2)


def test_double_supersedes_the_memory_that_it_replaces() -> None:
    world = World()
    keep(world, core("Ann is the treasurer"), core("Ben is the treasurer"))
    ann, ben = sorted(live(world), key=lambda memory: memory.text)
    done = keep(world, core("ben is the TREASURER", ann.id))
    assert done.kept == KeptCounts(doubles=1, superseded=1)
    assert texts(live(world)) == ["Ben is the treasurer"]
    assert world.app.memories.get(OWNER.reach, ann.id).superseded_by == ben.id


def test_memory_of_others_elsewhere_stands_for_no_memory_of_ones_own() -> None:
    world = World()
    ann, ben = (Authors(ids=(digest_of(person),)) for person in ("usr_ann", "usr_ben"))
    here = OWNER.model_copy(update={"source_chat_id": "chat_1", "authors": ann})
    there = OWNER.model_copy(update={"source_chat_id": "chat_2", "authors": ben})
    keep(world, core("Ben is the treasurer"), owner=there)
    keep(world, core("Ann is the treasurer"), owner=here)
    [old] = [each for each in live(world) if each.authors == ann]
    done = keep(world, core("Ben is the treasurer", old.id), owner=here)
    assert done.kept == KeptCounts(core=1, superseded=1)
    assert {each.authors for each in live(world)} == {ann, ben}
    assert keep(world, core("Ben is the treasurer"), owner=here).kept == KeptCounts(doubles=1)


def test_mutual_replacements_keep_one_memory() -> None:
    world = World()
    keep(world, core("Ann likes tea"), core("Ann likes gin"))
    gin, tea = sorted(live(world), key=lambda memory: memory.text)
    keep(world, core("Ann likes tea", gin.id), core("Ann likes gin", tea.id))
    assert texts(live(world)) == ["Ann likes tea"]


def test_memory_that_replaces_itself_changes_nothing() -> None:
    world = World()
    keep(world, core("Ann likes tea"))
    [tea] = live(world)
    assert keep(world, core("ann likes tea!", tea.id)) == MemoryWrites(kept=KeptCounts(doubles=1))


def test_two_replacements_of_one_memory_are_both_stored() -> None:
    world = World()
    keep(world, core("Ann likes hot drinks"))
    [old] = live(world)
    both = keep(world, core("Ann likes tea", old.id), core("Ann likes coffee", old.id))
    assert both.kept == KeptCounts(core=2, superseded=1)


def test_constitutional_memory_is_never_replaced() -> None:
    world = World()
    law = world.app.memories.add(OWNER, "Be kind", "core", made_by="api", constitutional=True)
    assert keep(world, core("Be rude", law.memory.id)).kept == KeptCounts(core=1)
    assert sorted(texts(live(world))) == ["Be kind", "Be rude"]


def test_wrong_memory_is_removed_and_stays_on_record() -> None:
    world = World()
    keep(world, core("Ann lives in Munich"), core("Ann lives in Berlin"))
    wrong, right = sorted(live(world), key=lambda one: one.text, reverse=True)
    done = keep(world, removed=[wrong.id, wrong.id, "mem_unknown"])
    assert done.kept == KeptCounts(removed=1)
    assert live(world) == [right]
    [stored] = [one for one in world.memories() if one.id == wrong.id]
    assert (stored.status, stored.superseded_by) == ("removed", None)


def test_memory_that_an_entry_repeats_or_replaces_is_not_removed() -> None:
    world = World()
    keep(world, core("Tea"), core("Coffee"))
    coffee, tea = sorted(live(world), key=lambda one: one.text)
    done = keep(world, core("Tea"), core("Water", coffee.id), removed=[tea.id, coffee.id])
    assert done.kept == KeptCounts(core=1, superseded=1, doubles=1)
    assert sorted(texts(live(world))) == ["Tea", "Water"]


STRANGER = Actor(chat_id="chat_2", authors=Authors.in_digests(["usr_eve"]), outsiders=True)


@pytest.mark.parametrize(
    ("made", "actor", "removes"),
    [
        ({"made_by": "tool"}, None, True),
        ({"made_by": "api"}, None, False),
        ({"made_by": "api", "constitutional": True}, None, False),
        ({"made_by": "tool"}, STRANGER, False),
    ],
)
def test_memory_is_removed_only_with_a_right_to_change_it(
    made: dict[str, Any], actor: Actor | None, *, removes: bool
) -> None:
    world = World()
    memory = world.app.memories.add(OWNER, "Ann lives in Munich", "core", **made).memory
    assert keep(world, removed=[memory.id], actor=actor).kept.removed == removes
    assert bool(live(world)) != removes


def test_open_memory_is_not_removed_for_private_words() -> None:
    world = World()
    memory = world.app.memories.add(OWNER, "Ann lives in Munich", "core", made_by="tool").memory
    done = keep(world, owner=PRIVATE, reach=REACH, removed=[memory.id])
    assert (done.kept.removed, len(live(world))) == (0, 1)


def test_open_memory_is_not_superseded_by_a_private_one() -> None:
    world = World()
    keep(world, core("Ann likes tea"))
    [old] = live(world)
    keep(world, core("Ann likes gin", old.id), owner=PRIVATE, reach=REACH)
    assert texts(live(world)) == ["Ann likes tea"]
    assert sorted(texts(live(world, REACH))) == ["Ann likes gin", "Ann likes tea"]


@pytest.mark.parametrize(
    ("told", "superseded"),
    [(ANN_AND_BEN, 1), (ANN, 0)],
)
def test_remember_for_fewer_people_keeps_the_memory_of_all(told: Audience, superseded: int) -> None:
    world = World()
    keep(world, core("Ann likes tea"), owner=PRIVATE)
    [old] = live(world, PRIVATE.reach)
    newer = PRIVATE.model_copy(update={"audience": told})
    done = keep(world, core("Ann likes gin", old.id), owner=newer)
    assert done.kept == KeptCounts(core=1, superseded=superseded)


def test_every_change_raises_the_revision_of_its_partition() -> None:
    world = World()
    key = revision_key(TENANT, "agt_a", None)
    keep(world, core("One"), core("Two"))
    keep(world, core("one"))
    keep(world, core("Three"))
    assert (world.table.get(key) or {})["revision"] == 2
    assert world.table.get(revision_key(TENANT, "agt_a", "chat:chat_1")) is None


# ---------------------------------------------------------------------- reading


def test_the_constitutional_come_first_then_core_then_journal_each_the_newest_first() -> None:
    world = World()
    for n in range(2):
        world.app.memories.add(OWNER, f"Law {n}", "core", made_by="api", constitutional=True)
        keep(world, core(f"Core {n}"), journal(f"Note {n}"))
    assert texts(live(world)) == ["Law 1", "Law 0", "Core 1", "Core 0", "Note 1", "Note 0"]


def test_faded_entry_is_not_live_even_before_the_table_deletes_it() -> None:
    world = World()
    keep(world, journal("Ann is away"), core("Ann likes tea"))
    world.clock.advance(JOURNAL_DAYS * 86_400 - 2)
    assert len(live(world)) == 2
    world.clock.advance(1)
    assert texts(live(world)) == ["Ann likes tea"]


class SmallPages(MemoryTable):
    """Gives four items at once, as DynamoDB gives a megabyte, however many are wanted."""

    def query(self, query: Query) -> Page:
        return super().query(replace(query, limit=min(query.limit or 4, 4)))


def test_memories_beyond_one_page_are_known() -> None:
    table = SmallPages()
    world = World(overrides={"table": table})
    world.table = table
    for n in range(9):
        keep(world, core(f"Core {n}"))
    assert world.app.memories.add(OWNER, "core 0", "core", made_by="tool").known
    known = searchable_memories(table, OWNER.reach, now=world.clock.now())
    revision = touched(TENANT, "agt_a", None)
    more: dict[str, Any] = {"reach": acting(OWNER), "revision": revision, "now": NOON}
    done = remember(OWNER, [core("CORE 1")], known, **more, ids=world.ids)
    assert done == MemoryWrites(kept=KeptCounts(doubles=1))
    search = MemorySearch(table=table, clock=world.clock, meanings=EmbeddingCache(embeddings))
    found = search.search(OWNER.reach, "core 0", limit=1)
    assert texts(found) == ["Core 0"]


def test_memory_search_considers_a_bounded_number_of_memories(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembering, "MAX_SEARCHED", 5)
    world = World()
    keep(world, *(core(f"Core {n}") for n in range(9)))
    known = searchable_memories(world.table, OWNER.reach, now=world.clock.now())
    assert texts(known) == [f"Core {n}" for n in (8, 7, 6, 5, 4)]


def test_a_partition_of_another_agent_or_tenant_is_never_read() -> None:
    world = World()
    stranger = OWNER.model_copy(update={"agent_id": "agt_b"})
    keep(world, core("Secret"), owner=stranger)
    other = Memory.model_validate(dict(live(world, stranger.reach)[0]) | {"tenant": "globex"})
    world.table.write(Put(other.key, other.to_item()))
    assert live(world) == []
