"""Read lists in pages: by query for the services, by opaque cursor for clients.

A cursor says where a list goes on, and never in whose partition.
The partition always comes from the signed-in caller's own request, so a forged cursor can at most
skip or repeat what its forger may read anyway.
"""

import binascii
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, StringConstraints

from skein.errors import Conflict, Invalid
from skein.models.base import Stored, Value
from skein.models.ownership import MAX_KEPT, Owned, Reach, owned_partition
from skein.models.storage import Item, Key, Page
from skein.ports import Table

MAX_PAGE = 100
DEFAULT_PAGE = 50
ROWS = 100  # of a relation in one reading; a batch of reads holds as many
MAX_CURSOR_CHARACTERS = 1_000
HIGHEST = "\U0010ffff"  # sorts behind all that people may put into a key
FULL = "nothing more can be kept here"
FOREIGN = "the cursor is not one that this list gave"
MAX_PAGE_BYTES = 2_500_000  # an answer of Lambda's holds 6 MB, in which quotes count double

# What a sort key that a list goes on from may look like.
KeyText = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[ -~]+$")]

Thing = TypeVar("Thing")
Record = TypeVar("Record", bound=Stored)
Shown = TypeVar("Shown", bound=Stored)
Sized = TypeVar("Sized", bound=BaseModel)


class Cursor(Value):
    """Where a list goes on; each list has its own kind, and takes no other."""

    def encode(self) -> str:
        """The cursor as clients carry it: base64url without padding."""
        data = self.model_dump_json(exclude_none=True).encode()
        return urlsafe_b64encode(data).rstrip(b"=").decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        """The cursor that `encode` made.

        Raises:
            Invalid: It is damaged, forged or another list's.
        """
        try:
            if len(text) > MAX_CURSOR_CHARACTERS:
                raise ValueError("too long")  # noqa: TRY301 - one answer to every bad cursor
            padded = text + "=" * (-len(text) % 4)
            return cls.model_validate_json(b64decode(padded, altchars=b"-_", validate=True))
        except (ValueError, binascii.Error):
            raise Invalid(FOREIGN) from None


ListName = Literal[
    "agents", "users", "lines", "runs", "services", "owned", "bench", "consolidations"
]


class RowCursor(Cursor):
    """Goes on behind one row of a list, which has one order and no other state.

    Lists that need more than a key to go on have a cursor of their own.
    """

    of: ListName
    after: KeyText

    @classmethod
    def key_in(cls, text: str | None, of: ListName) -> str | None:
        """Return the key behind which the list `of` goes on; None at its start.

        Raises:
            Invalid: The cursor is damaged, forged or another list's.
        """
        if text is None:
            return None
        cursor = cls.decode(text)
        if cursor.of != of:
            raise Invalid(FOREIGN)
        return cursor.after


@dataclass(frozen=True, slots=True)
class Listing(Generic[Thing]):
    """One page of a list; it ends when `next_cursor` is None, not when a page is short."""

    items: tuple[Thing, ...]
    next_cursor: str | None


def fitting(things: Iterable[Sized]) -> list[Sized]:
    """As many of `things`, in order, as one answer holds; at least one, if there is one."""
    taken: list[Sized] = []
    size = 0
    for thing in things:
        size += len(thing.model_dump_json().encode())
        if taken and size > MAX_PAGE_BYTES:
            break
        taken.append(thing)
    return taken


def pages(ask: Callable[[Item | None], Page]) -> Iterator[tuple[Item, ...]]:
    """The items of every page, in order.

    Args:
        ask: Reads the page that begins where an earlier one ended; None for the first.
    """
    start: Item | None = None
    while True:
        page = ask(start)
        yield page.items
        start = page.next_start
        if start is None:
            return


def items_under(
    table: Table, pk: str, prefix: str, *, after: str | None = None, rows: int = ROWS
) -> Iterator[Item]:
    """All items of a partition whose sort keys start with `prefix`, a page at a time.

    Args:
        table: Where.
        pk: The partition.
        prefix: Of the sort keys.
        after: Only what comes behind this one.
        rows: How many to read at once.
    """
    first, last = after or prefix, f"{prefix}{HIGHEST}"
    for items in pages(
        lambda start: table.query(pk, first=first, last=last, limit=rows, start=start)
    ):
        yield from (item for item in items if item["sk"] != after)


def rows_after(
    table: Table, relation: str, after: str | None, *, limit: int, newest_first: bool
) -> list[Item]:
    """Up to `limit` rows of a `gsi1` relation that come behind the sort key `after`.

    The bound is a key, not a row, so a row that has moved away meanwhile does no harm.
    """
    bounds: dict[str, Any] = {}
    if after is not None:
        bounds["last" if newest_first else "first"] = after
    page = table.query_index(
        "gsi1", relation, limit=limit + len(bounds), newest_first=newest_first, **bounds
    )
    return [row for row in page.items if row["gsi1sk"] != after][:limit]


def pages_of_relation(
    table: Table, relation: str, *, after: str | None = None, newest_first: bool = False
) -> Iterator[list[Item]]:
    """All rows of a `gsi1` relation behind the sort key `after`, up to 100 at a time.

    Whoever works on the rows may let them move away; see `rows_after`.
    """
    while True:
        rows = rows_after(table, relation, after, limit=ROWS, newest_first=newest_first)
        yield rows
        if len(rows) < ROWS:
            return
        after = rows[-1]["gsi1sk"]


def list_relation(
    table: Table,
    relation: str,
    record: type[Record],
    *,
    of: ListName,
    limit: int,
    cursor: str | None,
    newest_first: bool = False,
    keep: Callable[[Record], bool] = lambda _: True,
) -> Listing[Record]:
    """One page of the records that a relation points at: one query and one batch of reads.

    Args:
        table: Where they live.
        relation: The partition of `gsi1`.
        record: What they are.
        of: The list's name, which its cursors carry.
        limit: How many rows to read at most, 1 to 100.
        cursor: Where an earlier page ended.
        newest_first: From the highest sort key down.
        keep: Which records to show; the index may lag behind.

    Raises:
        Invalid: The cursor is not one of this list.
    """
    after = RowCursor.key_in(cursor, of)
    rows = rows_after(table, relation, after, limit=limit + 1, newest_first=newest_first)
    keys = {Key(row["pk"], row["sk"]): str(row["gsi1sk"]) for row in rows[:limit]}
    found = table.get_many(list(keys)) if keys else {}
    shown = {key: record.from_item(found[key]) for key in keys if key in found}
    kept = {key: thing for key, thing in shown.items() if keep(thing)}
    page = fitting(kept.values())
    if len(page) < len(kept):
        last: str | None = keys[list(kept)[len(page) - 1]]
    else:
        last = list(keys.values())[-1] if len(rows) > limit else None
    return Listing(tuple(page), RowCursor(of=of, after=last).encode() if last else None)


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
    items = table.query(partition, first=prefix, last=f"{prefix}~", limit=MAX_KEPT).items
    if sum(reach.shows(read(item)) for item in items) >= most:
        raise Conflict(told)
    if len(items) >= MAX_KEPT:
        raise Conflict(FULL)


def list_owned(
    table: Table,
    reach: Reach,
    sections: Sequence[str],
    read: Callable[[Item], Shown | None],
    *,
    limit: int,
    cursor: str | None,
) -> Listing[Shown]:
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
    read: Callable[[Item], Shown | None],
    *,
    limit: int,
    cursor: str | None,
) -> Listing[Shown]:
    """The same for any one partition; see `list_owned`.

    Raises:
        Invalid: The cursor is not one of this list.
    """
    after = RowCursor.key_in(cursor, "owned")
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
    return Listing(tuple(page_of), RowCursor(of="owned", after=last).encode() if last else None)
