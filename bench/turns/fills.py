"""Bulk writes that fill tables with many items."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from skein.adapters.dynamodb.attributes import marshal_item
from skein.models.common.storage import Item, Key, Put
from skein.ports import Table

ITEMS_OF_A_TRANSACTION = 100
ITEMS_OF_A_BATCH = 25
BATCHES_AT_ONCE = 40
WRITERS = 2

Fill = Callable[[Iterable[Item]], None]


def in_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def filled_by_transactions(table: Table) -> Fill:
    """Return a function that fills any table by transactions of a hundred items."""

    def fill(items: Iterable[Item]) -> None:
        for batch in in_batches(items, ITEMS_OF_A_TRANSACTION):
            table.transact([Put(Key(item["pk"], item["sk"]), item) for item in batch])

    return fill


def filled_by_batches(client: Any, name: str) -> Fill:
    """Return a function that fills a table by DynamoDB's own bulk writes."""

    def write(batch: list[Item]) -> None:
        puts = [{"PutRequest": {"Item": marshal_item(_present(item))}} for item in batch]
        left = client.batch_write_item(RequestItems={name: puts})["UnprocessedItems"]
        while left:
            left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]

    def fill(items: Iterable[Item]) -> None:
        batches = in_batches(items, ITEMS_OF_A_BATCH)
        with ThreadPoolExecutor(WRITERS) as pool:
            # Some batches at a time: all items of a long chat would fill the memory.
            while several := list(islice(batches, BATCHES_AT_ONCE)):
                list(pool.map(write, several))

    return fill


def _present(item: Item) -> Item:
    return {name: value for name, value in item.items() if value is not None}
