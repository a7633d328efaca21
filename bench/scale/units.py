"""DynamoDB's rules for what a read or a write consumes, as far as Skein uses them.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from local.sqlite.items import item_size
from skein.adapters.attributes import marshal_item
from skein.adapters.rules import INDEXES, TABLE
from skein.models.common.storage import Item

READ_BYTES = 4 * 1024
WRITE_BYTES = 1024
PAGE_BYTES = 1024 * 1024
TRANSACTION = 2  # each write of one is made twice
EVENTUAL = 0.5


def size_of(item: Mapping[str, Any] | None) -> int:
    """The bytes of an item as Python has it; 0 of none."""
    return item_size(marshal_item(item)) if item else 0


def read_units(size: int) -> int:
    """Of one strongly consistent read of an item, or of a query's page, of so many bytes."""
    return max(1, ceil(size / READ_BYTES))


def write_units(*sizes: int) -> int:
    """Of one write of an item that was, and is, so many bytes."""
    return max(1, ceil(max(sizes) / WRITE_BYTES))


def index_writes(before: Item | None, after: Item | None) -> Iterable[tuple[str, int]]:
    """What a write of an item costs in the partitions of the indexes, which hold keys only.

    A key that changes is one row less and one more.
    """
    for schema in INDEXES.values():
        rows = [
            {name: item[name] for name in (*TABLE, *schema)}
            if item and item.get(schema.pk) is not None and item.get(schema.sk) is not None
            else None
            for item in (before, after)
        ]
        if rows[0] == rows[1]:
            continue
        for row in rows:
            if row is not None:
                yield row[schema.pk], write_units(size_of(row))
