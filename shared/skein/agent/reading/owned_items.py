"""The query for a partition of an agent's items, which reads the items of all sections at once.

The items are adjacent by sort key: first memories, then goals, pinned documents, live runs, open
errands, threads and the revision, then plans. So one query from the end reads all of them, and a
query that stops at the goals reads everything but the memories, which may be cached. Each section
declares the sort keys that it uses (`SectionItems.owned`), and a test checks that the query reads
them.
"""

from collections.abc import Sequence

from skein.memory.models.memory import Memory
from skein.models.common.storage import Item, Query
from skein.models.visibility.ownership import owned_partition
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.ports import Table

MAX_LIVE = 500  # memories per partition and query; see `live_items` for the order
MAX_OTHER_ITEMS = 700  # goals, plans and others that are read first, including hidden ones


def live_items(table: Table, tenant: str, agent_id: str, scope: str | None) -> Sequence[Item]:
    """Read the live memories of one partition with one query, including faded journal entries.

    Operators' memories come first, then core memories, then journal entries, each newest first.
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
