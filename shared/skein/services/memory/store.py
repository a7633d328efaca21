"""Reads of an agent's memories, and the choice of those that a prompt shows."""

from collections.abc import Sequence
from datetime import datetime

from skein.models.common.ownership import Reach, owned_partition
from skein.models.common.storage import Item, Query
from skein.models.memory.memory import Memory
from skein.models.planning.goal import Goal
from skein.models.planning.plan import Plan
from skein.ports import Table, TokenCounter
from skein.services.common.quoting import on_one_line

CORE_MEMORY_TOKENS = 5_000  # of core memories in a prompt

MAX_LIVE = 500  # memories per partition and query; see `live_items` for the order
MAX_SEARCHED = 5_000  # memories per partition for searches and duplicates, in the same order
MAX_OTHER_ITEMS = 500  # goals, plans and live runs read with the memories, including hidden ones


def live_items(table: Table, tenant: str, agent_id: str, scope: str | None) -> Sequence[Item]:
    """Read the live memories of one partition with one query, including faded journal entries.

    Constitutional memories come first, then core memories, then journal entries, each newest first.
    If the query ends before the first journal entry, a second query reads the journal.
    """
    partition = owned_partition(tenant, agent_id, scope)
    return _with_journal(table, partition, last=Memory.PREFIX.last, limit=MAX_LIVE)


def owned_items(
    table: Table, tenant: str, agent_id: str, scope: str | None, *, memories: bool = True
) -> Sequence[Item]:
    """Read the plans, live runs, goals and memories of one partition with one query.

    The revision is among the items and is read before its memories. Memories come last, in the
    order of `live_items`.

    Args:
        scope: The scope of the partition.
        memories: Whether to read the memories, too.
    """
    partition = owned_partition(tenant, agent_id, scope)
    if not memories:
        page = table.query(
            Query(partition, first=Goal.PREFIX, last=Plan.PREFIX.last, newest_first=True)
        )
        return page.items
    return _with_journal(table, partition, last=Plan.PREFIX.last, limit=MAX_LIVE + MAX_OTHER_ITEMS)


def _with_journal(table: Table, partition: str, *, last: str, limit: int) -> Sequence[Item]:
    page = table.query(
        Query(partition, first=Memory.PREFIX, last=last, limit=limit, newest_first=True)
    )
    journal = Memory.live_prefix("journal")
    if page.next_start is None or page.items[-1]["sk"].startswith(journal):
        return page.items
    journal_page = table.query(Query.under(partition, journal, limit=MAX_LIVE, newest_first=True))
    return (*page.items, *journal_page.items)


def searchable_memories(table: Table, reach: Reach, *, now: datetime) -> list[Memory]:
    """Read all live memories within reach, up to 5,000 per partition.

    Searches and the check for duplicates need memories beyond those that `live_items` reads for a
    prompt. The cost is one query per partition and 1 MB.
    """
    found: list[Memory] = []
    for scope in reach.scopes:
        partition = owned_partition(reach.tenant, reach.agent_id, scope)
        left, start, more = MAX_SEARCHED, None, True
        while more and left > 0:
            page = table.query(
                Query(
                    partition,
                    first=Memory.PREFIX,
                    last=Memory.PREFIX.last,
                    limit=left,
                    newest_first=True,
                    start=start,
                )
            )
            found += map(Memory.from_item, page.items)
            left -= len(page.items)
            start, more = page.next_start, page.next_start is not None
    return [memory for memory in found if not memory.faded(now) and reach.shows(memory)]


def line_of(memory: Memory, *, dated: bool = True) -> str:
    """Format a memory as one line of a prompt, without the text's line breaks."""
    day = f"[{memory.created_at:%Y-%m-%d}] " if dated else ""
    return f"  - {day}{on_one_line(memory.text)}"


def within_budget(memories: Sequence[Memory], counter: TokenCounter, tokens: int) -> list[Memory]:
    """Choose the memories that fit a token budget, in order from oldest to newest.

    Constitutional memories are always chosen, then the newest others until one does not fit.

    Args:
        memories: Memories of one kind.
        tokens: The budget for all lines together; constitutional memories may exceed it.
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
    """Choose the core memories among `live` that fit a token budget; see `within_budget`."""
    return within_budget([memory for memory in live if memory.kind == "core"], counter, tokens)
