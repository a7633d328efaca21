"""Lists in pages: opaque cursors say where one goes on, and never in whose partition.

The partition always comes from the signed-in caller's own request, so a forged cursor can at most
skip or repeat what its forger may read anyway.
"""

import binascii
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, StringConstraints

from skein.errors import Invalid
from skein.models.base import Stored, Value
from skein.models.storage import Item, Key
from skein.ports import Table

MAX_PAGE = 100
DEFAULT_PAGE = 50
ROWS = 100  # of a relation in one reading; a batch of reads holds as many
MAX_CURSOR_CHARACTERS = 1_000
FOREIGN = "the cursor is not one that this list gave"
MAX_PAGE_BYTES = 2_500_000  # an answer of Lambda's holds 6 MB, in which quotes count double

# What a sort key that a list goes on from may look like.
KeyText = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[ -~]+$")]

Thing = TypeVar("Thing")
Record = TypeVar("Record", bound=Stored)
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


RelationName = Literal["agents", "users", "lines", "runs", "services"]


class RowCursor(Cursor):
    """Goes on behind one row of a relation."""

    of: RelationName
    after: KeyText


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
    of: RelationName,
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
    at = RowCursor.decode(cursor) if cursor is not None else None
    if at is not None and at.of != of:
        raise Invalid(FOREIGN)
    after = at.after if at else None
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
