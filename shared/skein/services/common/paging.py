"""Reads what does not fit into one answer of the table, page after page."""

from collections.abc import Callable, Iterator

from skein.models.storage import Item, Page
from skein.ports import Table

ROWS = 100  # in one page
HIGHEST = "\U0010ffff"  # sorts behind all that people may put into a key


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
