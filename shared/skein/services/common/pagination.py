"""Read lists page by page, and give clients opaque cursors.

A cursor contains a position in a list, but never the partition of the list. The partition always
comes from the authenticated request. So a forged cursor can only skip or repeat items that the
client may read anyway.
"""

import binascii
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Generic, Self, TypeVar

from pydantic import BaseModel, StringConstraints

from skein.errors import Invalid
from skein.models.common.base import Stored, Value
from skein.models.common.storage import HIGHEST_KEY, MAX_BATCH_GET_KEYS, Item, Key, Page, Query
from skein.ports import Table

MAX_PAGE = 100
DEFAULT_PAGE = 50
ROWS = 100  # rows of a relation per query; one batch can read as many items
MAX_CURSOR_CHARACTERS = 1_000
FOREIGN = "the cursor is not a cursor of this list"
MAX_PAGE_BYTES = 2_500_000  # a Lambda response may have 6 MB, and each escaped quote counts twice

# A sort key in a cursor.
KeyText = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[ -~]+$")]

Thing = TypeVar("Thing")
Record = TypeVar("Record", bound=Stored)
Shown = TypeVar("Shown", bound=Stored)
Sized = TypeVar("Sized", bound=BaseModel)


class Cursor(Value):
    """The position at which the next page of a list starts.

    A list rejects cursors of other lists.
    """

    def encode(self) -> str:
        """Encode the cursor for clients as base64url without padding."""
        data = self.model_dump_json(exclude_none=True).encode()
        return urlsafe_b64encode(data).rstrip(b"=").decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        """Decode a cursor that `encode` returned.

        Raises:
            Invalid: The cursor is damaged, forged or belongs to another list.
        """
        try:
            if len(text) > MAX_CURSOR_CHARACTERS:
                raise ValueError("too long")  # noqa: TRY301 - one answer to every bad cursor
            padded = text + "=" * (-len(text) % 4)
            return cls.model_validate_json(b64decode(padded, altchars=b"-_", validate=True))
        except (ValueError, binascii.Error):
            raise Invalid(FOREIGN) from None


ListName = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,30}$")]


class RowCursor(Cursor):
    """A cursor that contains the sort key of the last row of the previous page.

    Lists that need more than a sort key have their own class of cursor.
    """

    of: ListName
    after: KeyText

    @classmethod
    def key_in(cls, text: str | None, of: ListName) -> str | None:
        """Return the key after which the page starts; None for the first page.

        Raises:
            Invalid: The cursor is damaged, forged or belongs to another list.
        """
        if text is None:
            return None
        cursor = cls.decode(text)
        if cursor.of != of:
            raise Invalid(FOREIGN)
        return cursor.after


@dataclass(frozen=True, slots=True)
class Listing(Generic[Thing]):
    """One page of a list. Any page can be short; only the last page has no `next_cursor`."""

    items: tuple[Thing, ...]
    next_cursor: str | None


def fitting(things: Iterable[Sized]) -> list[Sized]:
    """Return as many of the first `things` as fit in 2.5 MB, but at least one."""
    taken: list[Sized] = []
    size = 0
    for thing in things:
        size += len(thing.model_dump_json().encode())
        if taken and size > MAX_PAGE_BYTES:
            break
        taken.append(thing)
    return taken


def pages(ask: Callable[[Item | None], Page]) -> Iterator[tuple[Item, ...]]:
    """Yield the items of each page, in order.

    Args:
        ask: Reads one page. Its argument is the previous page's `next_start`, or None for the first
            page.
    """
    start: Item | None = None
    while True:
        page = ask(start)
        yield page.items
        start = page.next_start
        if start is None:
            return


def read_items(table: Table, keys: Sequence[Key]) -> dict[Key, Item]:
    """Read items in batches of 100."""
    found: dict[Key, Item] = {}
    for start in range(0, len(keys), MAX_BATCH_GET_KEYS):
        found |= table.get_many(keys[start : start + MAX_BATCH_GET_KEYS])
    return found


def items_under(
    table: Table, pk: str, prefix: str, *, after: str | None = None, rows: int = ROWS
) -> Iterator[Item]:
    """Yield a partition's items with sort keys that start with `prefix`, reading page by page.

    Args:
        pk: The partition.
        prefix: The prefix of the sort keys.
        after: Yield only items after this sort key.
        rows: The number of items to read per query.
    """
    first, last = after or prefix, f"{prefix}{HIGHEST_KEY}"
    for items in pages(
        lambda start: table.query(Query(pk, first=first, last=last, limit=rows, start=start))
    ):
        yield from (item for item in items if item["sk"] != after)


def rows_after(
    table: Table, relation: str, after: str | None, *, limit: int, newest_first: bool
) -> list[Item]:
    """Return up to `limit` rows of a `gsi1` relation after the sort key `after`.

    The row with the sort key `after` may have been removed in the meantime.
    """
    query = Query(relation, index="gsi1", limit=limit, newest_first=newest_first)
    if after is not None and newest_first:
        query = replace(query, limit=limit + 1, last=after)
    elif after is not None:
        query = replace(query, limit=limit + 1, first=after)
    page = table.query(query)
    return [row for row in page.items if row["gsi1sk"] != after][:limit]


def pages_of_relation(
    table: Table, relation: str, *, after: str | None = None, newest_first: bool = False
) -> Iterator[list[Item]]:
    """Yield the rows of a `gsi1` relation after the sort key `after`, up to 100 at a time.

    The caller may remove rows from the relation between pages; see `rows_after`.
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
    """List a page of a relation's records, with one query and one batch read.

    Args:
        relation: The partition of `gsi1`.
        record: The class of the records.
        of: The name of the list, which is part of its cursors.
        limit: The maximum number of rows to read, 1 to 100.
        newest_first: Whether to read from the highest sort key down.
        keep: Returns whether to show a record. The index is eventually consistent, so a record may
            no longer belong to the list.

    Raises:
        Invalid: The cursor does not belong to this list.
    """
    after = RowCursor.key_in(cursor, of)
    rows = rows_after(table, relation, after, limit=limit + 1, newest_first=newest_first)
    keys = {Key(row["pk"], row["sk"]): str(row["gsi1sk"]) for row in rows[:limit]}
    found = table.get_many(list(keys)) if keys else {}
    shown = {key: record.must_read(found, key) for key in keys if key in found}
    kept = {key: thing for key, thing in shown.items() if keep(thing)}
    page = fitting(kept.values())
    if len(page) < len(kept):
        last: str | None = keys[list(kept)[len(page) - 1]]
    else:
        last = list(keys.values())[-1] if len(rows) > limit else None
    return Listing(tuple(page), RowCursor(of=of, after=last).encode() if last else None)


def list_partition(
    table: Table,
    partition: str,
    sections: Sequence[str],
    read: Callable[[Item], Shown | None],
    *,
    limit: int,
    cursor: str | None,
    newest_first: bool = False,
) -> Listing[Shown]:
    """List a page of a partition's items, one section after another, each in sort-key order.

    Args:
        sections: The prefixes of the sort keys, in the order of the list.
        read: Parses an item; returns None for an item that may not be shown.
        newest_first: Whether to read each section from its highest sort key down.

    Raises:
        Invalid: The cursor does not belong to this list.
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
        bound = after if after is not None and after.startswith(prefix) else None
        first, last_of = (prefix, bound) if newest_first else (bound or prefix, None)
        query = Query(
            partition,
            first=first,
            last=last_of or f"{prefix}~",
            limit=limit + 2,
            newest_first=newest_first,
        )
        page = table.query(query)
        items.extend(item for item in page.items if item["sk"] != after)
    things = [(item["sk"], thing) for item in items[:limit] if (thing := read(item)) is not None]
    page_of = fitting(thing for _, thing in things)
    if len(page_of) < len(things):
        last = things[len(page_of) - 1][0]
    else:
        last = items[limit - 1]["sk"] if len(items) > limit else None
    return Listing(tuple(page_of), RowCursor(of="owned", after=last).encode() if last else None)
