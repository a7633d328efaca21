"""Lists of what an agent owns: whole ones for prompts and tools, pages for the API."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import StringConstraints

from skein.errors import Conflict, Invalid
from skein.models.base import Stored
from skein.models.intent import MOST_KEPT, Owned, Reach, owned_partition
from skein.models.storage import Item
from skein.ports import Table
from skein.services.common.cursors import FOREIGN, Cursor, Listing, fitting

Thing = TypeVar("Thing", bound=Stored)


FULL = "nothing more can be kept here"


class OwnedCursor(Cursor):
    """Goes on behind one item of a partition."""

    of: Literal["owned"] = "owned"
    after: Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[ -~]+$")]


def owned_items(table: Table, reach: Reach, prefix: str) -> list[Item]:
    """All items within reach whose sort keys start with `prefix`: one query a partition."""
    return [
        item
        for scope in reach.scopes
        for item in table.query(
            owned_partition(reach.tenant, reach.agent_id, scope), first=prefix, last=f"{prefix}~"
        ).items
    ]


def check_room(
    table: Table, reach: Reach, prefix: str, read: Callable[[Item], Owned], *, most: int, told: str
) -> None:
    """Refuse one more active thing where there are as many as may be.

    Only what may be shown within reach counts, so the limit tells nothing of what is hidden. A cap
    on everything that is stored keeps the partition small enough to be read at once.

    Args:
        table: Where they live.
        reach: Whose, and where they are shown; its first scope counts.
        prefix: What the sort keys of active ones start with.
        read: Makes an item a thing.
        most: How many there may be.
        told: Why one more is refused.

    Raises:
        Conflict: There are as many as may be.
    """
    partition = owned_partition(reach.tenant, reach.agent_id, reach.scopes[0])
    items = table.query(partition, first=prefix, last=f"{prefix}~", limit=MOST_KEPT).items
    if sum(reach.shows(read(item)) for item in items) >= most:
        raise Conflict(told)
    if len(items) >= MOST_KEPT:
        raise Conflict(FULL)


def list_owned(
    table: Table,
    reach: Reach,
    sections: Sequence[str],
    read: Callable[[Item], Thing | None],
    *,
    limit: int,
    cursor: str | None,
) -> Listing[Thing]:
    """One page of the items in one partition, section after section, each by its sort keys.

    Args:
        table: Where they live.
        reach: Whose; its first scope counts.
        sections: What the sort keys start with.
        read: Makes an item a thing, or None if it is not to be shown.
        limit: How many items to read at most.
        cursor: Where an earlier page ended.

    Raises:
        Invalid: The cursor is not one of this list.
    """
    partition = owned_partition(reach.tenant, reach.agent_id, reach.scopes[0])
    return list_partition(table, partition, sections, read, limit=limit, cursor=cursor)


def list_partition(
    table: Table,
    partition: str,
    sections: Sequence[str],
    read: Callable[[Item], Thing | None],
    *,
    limit: int,
    cursor: str | None,
) -> Listing[Thing]:
    """The same for any one partition; see `list_owned`.

    Raises:
        Invalid: The cursor is not one of this list.
    """
    after = OwnedCursor.decode(cursor).after if cursor is not None else None
    left = list(sections)
    if after is not None:
        while left and not after.startswith(left[0]):
            left.pop(0)
        if not left:
            raise Invalid(FOREIGN)
    items: list[Item] = []
    for prefix in left:
        if len(items) > limit:
            break
        first = after if after is not None and after.startswith(prefix) else prefix
        page = table.query(partition, first=first, last=f"{prefix}~", limit=limit + 2)
        items.extend(item for item in page.items if item["sk"] != after)
    things = [(item["sk"], thing) for item in items[:limit] if (thing := read(item)) is not None]
    page_of = fitting(thing for _, thing in things)
    if len(page_of) < len(things):
        last = things[len(page_of) - 1][0]
    else:
        last = items[limit - 1]["sk"] if len(items) > limit else None
    return Listing(tuple(page_of), OwnedCursor(after=last).encode() if last else None)
