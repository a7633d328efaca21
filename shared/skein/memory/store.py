"""Read more of an agent's memories than a prompt shows, and read an agent's active plans."""

from datetime import datetime

from skein.memory.models.memory import Memory
from skein.models.common.storage import Query
from skein.models.visibility.ownership import Reach, owned_partition
from skein.planning.models.plan import MAX_PLANS, Plan
from skein.ports import Table

MAX_SEARCHED = 5_000  # memories per partition for searches and duplicates; see `Memory.key`


def searchable_memories(table: Table, reach: Reach, *, now: datetime) -> list[Memory]:
    """Read all live memories within reach, up to 5,000 per partition.

    Searches and checks for duplicates need more memories than a prompt, which reads up to 500. Each
    partition takes one query per 1 MB.
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
            found += Memory.each_of(page.items)
            left -= len(page.items)
            start, more = page.next_start, page.next_start is not None
    return [memory for memory in found if not memory.faded(now) and reach.shows(memory)]


def active_plans(table: Table, reach: Reach) -> list[Plan]:
    """Read the active plans within reach, up to 100 per partition, with one query each."""
    found: list[Plan] = []
    for scope in reach.scopes:
        partition = owned_partition(reach.tenant, reach.agent_id, scope)
        query = Query(partition, first=Plan.PREFIX, last=Plan.PREFIX.last, limit=MAX_PLANS)
        found += map(Plan.from_item, table.query(query).items)
    return [plan for plan in found if plan.live and plan.next_at and reach.shows(plan)]
