"""One query reads the items of a partition for all sections, and nothing else."""

import pytest

from skein.agent.reading import owned_items
from skein.agent.reading.owned_items import live_items
from skein.agent.sections.order import ITEMS
from skein.memory.models.memory import Memory, MemoryKind
from skein.models.common.storage import Item, Key, Put
from skein.models.items.agent_item import REVISION
from skein.models.visibility.ownership import Owner, owned_partition
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from tests.fakes.table import MemoryTable
from tests.support.builders import TENANT, World

OWNER = Owner(tenant=TENANT, agent_id="agt_a")
DECLARED = sorted({sort_key for kind in ITEMS for sort_key in kind.owned})


def test_sort_keys_of_all_sections_are_neighbours_with_the_memories_first() -> None:
    assert DECLARED[0] == Memory.PREFIX
    assert DECLARED[1] == Goal.PREFIX
    assert DECLARED[-1] == Plan.PREFIX
    assert Goal.PREFIX < REVISION < Plan.PREFIX


@pytest.mark.parametrize("memories", [True, False])
def test_query_reads_the_items_of_all_sections_and_the_revision(*, memories: bool) -> None:
    table = MemoryTable()
    partition = owned_partition(TENANT, "agt_a", None)
    for sort_key in [*DECLARED, REVISION]:
        item: Item = {"pk": partition, "sk": sort_key}
        table.write(Put(Key(partition, sort_key), item))
    table.log.clear()
    found = owned_items.owned_items(table, TENANT, "agt_a", None, memories=memories)
    expected = [*DECLARED, REVISION] if memories else [*DECLARED[1:], REVISION]
    assert {item["sk"] for item in found} == set(expected)
    assert [call.method for call in table.log] == ["query"]


def test_more_core_memories_than_one_reading_holds_do_not_hide_the_journal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owned_items, "MAX_LIVE", 5)
    world = World()
    for n in range(12):
        kind: MemoryKind = "core" if n < 9 else "journal"
        world.app.memories.add(OWNER, f"{kind} {n}", kind, made_by="tool")
        world.clock.advance(1)
    found = map(Memory.from_item, live_items(world.table, TENANT, "agt_a", None))
    assert [memory.text for memory in found] == [
        *(f"core {n}" for n in (8, 7, 6, 5, 4)),
        *(f"journal {n}" for n in (11, 10, 9)),
    ]
