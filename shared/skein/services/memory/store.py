"""Read what an agent remembers, and choose what a prompt shows of it."""

from collections.abc import Sequence
from datetime import datetime

from skein.models.goal import Goal
from skein.models.memory import LIVE, Memory
from skein.models.ownership import Reach, owned_partition
from skein.models.plan import Plan
from skein.models.storage import Item
from skein.ports import Table, TokenCounter
from skein.services.common.quoting import on_one_line

MAX_LIVE = 500  # of one partition in one reading: the constitutional, then the newest
MAX_KNOWN = 5_000  # of one partition where every one of them counts; the same come first
MAX_BESIDE = 500  # goals, plans and live runs that are read with them, hidden ones among them


def live_items(table: Table, tenant: str, agent_id: str, scope: str | None) -> Sequence[Item]:
    """What stands as remembered in one partition, faded entries included: one query.

    The constitutional come first, then core memories, then journal entries, each the newest first.
    Where there are more core memories than one reading holds, a second one has the journal.
    """
    partition = owned_partition(tenant, agent_id, scope)
    return _with_journal(table, partition, last=LIVE.last, limit=MAX_LIVE)


def owned_items(
    table: Table, tenant: str, agent_id: str, scope: str | None, *, memories: bool = True
) -> Sequence[Item]:
    """All that a prompt may show of one partition, in one query: plans, live runs, goals, memories.

    The revision is among them, and is read before the memories that it is of. See `live_items` for
    the order of the memories, which come last; or leave them out.
    """
    partition = owned_partition(tenant, agent_id, scope)
    if not memories:
        page = table.query(partition, first=Goal.PREFIX, last=Plan.PREFIX.last, newest_first=True)
        return page.items
    return _with_journal(table, partition, last=Plan.PREFIX.last, limit=MAX_LIVE + MAX_BESIDE)


def _with_journal(table: Table, partition: str, *, last: str, limit: int) -> Sequence[Item]:
    page = table.query(partition, first=LIVE, last=last, limit=limit, newest_first=True)
    journal = Memory.live_prefix("journal")
    if page.next_start is None or page.items[-1]["sk"].startswith(journal):
        return page.items
    notes = table.query(
        partition, first=journal, last=f"{journal}~", limit=MAX_LIVE, newest_first=True
    )
    return (*page.items, *notes.items)


def live_memories(table: Table, reach: Reach, *, now: datetime) -> list[Memory]:
    """What an agent remembers now within reach, one query a partition; see `live_items`.

    Args:
        table: Where.
        reach: Whose, and where it is shown.
        now: What has faded by then is left out.
    """
    found = [
        Memory.from_item(item)
        for scope in reach.scopes
        for item in live_items(table, reach.tenant, reach.agent_id, scope)
    ]
    return [memory for memory in found if not memory.faded(now) and reach.shows(memory)]


def known_memories(table: Table, reach: Reach, *, now: datetime) -> list[Memory]:
    """The same as `live_memories`, but all of it, up to 5,000 of each partition.

    For searches and for doubles: what a prompt has no room for is known all the same. One query a
    partition for each 1 MB.
    """
    found: list[Memory] = []
    for scope in reach.scopes:
        partition = owned_partition(reach.tenant, reach.agent_id, scope)
        left, start, more = MAX_KNOWN, None, True
        while more and left > 0:
            page = table.query(
                partition,
                first=LIVE,
                last=LIVE.last,
                limit=left,
                newest_first=True,
                start=start,
            )
            found += map(Memory.from_item, page.items)
            left -= len(page.items)
            start, more = page.next_start, page.next_start is not None
    return [memory for memory in found if not memory.faded(now) and reach.shows(memory)]


def line_of(memory: Memory) -> str:
    """How a memory stands in a prompt: on one line, whatever its text holds."""
    day = f"[{memory.created_at:%Y-%m-%d}] " if memory.kind == "journal" else ""
    return f"  - {day}{on_one_line(memory.text)}"


def within_budget(memories: Sequence[Memory], counter: TokenCounter, tokens: int) -> list[Memory]:
    """Those that are shown where there is no room for all, the oldest first.

    They are the constitutional, then the newest, as far as there is room.

    Args:
        memories: Of one kind.
        counter: Counts tokens.
        tokens: How many they may take together; constitutional ones may take more.
    """
    wanted = sorted(memories, key=lambda memory: (memory.constitutional, *memory.age))
    shown: list[Memory] = []
    for memory in reversed(wanted):
        tokens -= counter.count(f"{line_of(memory)}\n")
        if tokens < 0 and not memory.constitutional:
            break
        shown.append(memory)
    return sorted(shown, key=lambda memory: memory.age)


def core_in_budget(live: Sequence[Memory], counter: TokenCounter, tokens: int) -> list[Memory]:
    """The core memories among what an agent remembers, as far as it is shown them."""
    return within_budget([memory for memory in live if memory.kind == "core"], counter, tokens)
