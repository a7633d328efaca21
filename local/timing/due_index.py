"""Reads the due index to find what is due next. It starts no work."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import NamedTuple

from skein.models.common.storage import HIGHEST_KEY, Item, Key, Page, Query
from skein.models.outbox.due import DUE_SHARDS, DueKind, due_before, due_partition
from skein.ports import Table
from skein.services.common.pagination import pages

PAGE = 400


class DuePart(NamedTuple):
    """One partition of the due index: a kind and a shard."""

    kind: DueKind
    shard: int


@dataclass(frozen=True, slots=True)
class DueIndex:
    """Reads the due index for the local stack."""

    table: Table

    def earliest(self, parts: Iterable[DuePart]) -> dict[DuePart, datetime]:
        """Return the earliest due time of each partition; empty partitions are left out."""
        queries = {
            part: Query(due_partition(part.kind, part.shard), index="gsi2", limit=1)
            for part in parts
        }
        found = {part: self.table.query(query).items for part, query in queries.items()}
        return {part: due_at(items[0]) for part, items in found.items() if items}

    def earliest_pointers(self, kind: DueKind, limit: int) -> Iterator[Item]:
        """Yield the earliest `limit` due pointers of each shard of a kind."""
        for shard in range(DUE_SHARDS):
            query = Query(due_partition(kind, shard), index="gsi2", limit=limit)
            yield from self.table.query(query).items

    def pointers(self, kind: DueKind, *, until: datetime | None = None) -> Iterator[Item]:
        """Yield the due pointers of a kind, shard by shard.

        Args:
            until: The latest due time; None for all.
        """
        last = HIGHEST_KEY if until is None else due_before(until)
        for shard in range(DUE_SHARDS):
            query = Query(due_partition(kind, shard), index="gsi2", last=last, limit=PAGE)
            ask = partial(self._page, query)
            yield from chain.from_iterable(pages(ask))

    def _page(self, query: Query, start: Item | None) -> Page:
        return self.table.query(replace(query, start=start))


def due_at(pointer: Item) -> datetime:
    return datetime.fromisoformat(str(pointer["gsi2sk"]).split("#", 1)[0])


def key_of(pointer: Item) -> Key:
    """Return the key of the item that a due pointer points to."""
    return Key(pointer["pk"], pointer["sk"])
