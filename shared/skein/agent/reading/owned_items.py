"""Query a partition of an agent's items, for all sections at once.

By sort key, memories come first, then goals, pinned documents, live runs, open errands, threads and
the revision, then plans. One query in descending order, which starts with the plans, therefore
reads all items. If the memories are cached, the query stops at the goals. Each section declares the
sort keys that it uses (`SectionItems.owned`), and a test checks that the query reads them.
"""

from collections.abc import Sequence

from skein.memory.models.memory import Memory
from skein.models.common.storage import Item, Query
from skein.models.visibility.ownership import owned_partition
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.ports import Table

MAX_LIVE = 500  # memories per partition and query; see `live_items` for the order
MAX_OTHER_ITEMS = 700  # goals, plans and other items that are read before the memories


def live_items(table: Table, tenant: str, agent_id: str, scope: str | None) -> Sequence[Item]:
    """Read the live memories of one partition, including faded journal entries.

    Operators' memories come first, then core memories, then journal entries, each newest first.
    Usually, one query is enough. If it ends before the first journal entry, a second query reads
    the journal.
    """
    partition = owned_partition(tenant, agent_id, scope)
    return _with_journal(table, partition, last=Memory.PREFIX.last, limit=MAX_LIVE)


def owned_items(
    table: Table, tenant: str, agent_id: str, scope: str | None, *, memories: bool = True
) -> Sequence[Item]:
    """Read the plans, live runs, goals, memories and other live items of one partition.

    The revision is also returned, and is read before the memories. Memories come last, in the order
    of `live_items`. Usually, one query is enough.

    Args:
        scope: The scope of the partition.
        memories: Whether to read the memories.
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
