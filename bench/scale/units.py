"""DynamoDB's rules for read and write units, as far as Skein uses them.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from local.sqlite.items import item_size
from skein.adapters.aws.rules import INDEXES, TABLE
from skein.adapters.dynamodb.attributes import marshal_item
from skein.models.common.storage import Item

READ_BYTES = 4 * 1024
WRITE_BYTES = 1024
PAGE_BYTES = 1024 * 1024
TRANSACTION = 2  # a write in a transaction counts twice
EVENTUAL = 0.5


def size_of(item: Mapping[str, Any] | None) -> int:
    """Return the bytes of an item; 0 for None."""
    return item_size(marshal_item(item)) if item else 0


def read_units(size: int) -> int:
    """Return the units of a strongly consistent read of an item or a page of this size."""
    return max(1, ceil(size / READ_BYTES))


def write_units(*sizes: int) -> int:
    """Return the units of a write of an item, from its sizes before and after."""
    return max(1, ceil(max(sizes) / WRITE_BYTES))


def index_writes(before: Item | None, after: Item | None) -> Iterable[tuple[str, int]]:
    """Yield the write units of an item in the partitions of the indexes, which hold keys only.

    A changed key deletes one entry and adds another.
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
