"""A table with millions of generated due items, which stores changed items only.

Items and pages of the due index are generated when they are read. The table supports only the calls
of the tick and the finders; other calls raise an error. `tests/contract/test_generated_table.py`
compares its pages with those of the table in memory.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from heapq import merge
from itertools import islice, product
from typing import NamedTuple, NoReturn

from bench.scale.crowds import Crowd
from bench.scale.meter import CallMeter
from bench.scale.units import (
    EVENTUAL,
    PAGE_BYTES,
    read_units,
    size_of,
    write_units,
)
from skein.adapters.aws.rules import check_batch, check_key, check_query, check_write, is_impossible
from skein.errors import ConditionFailed
from skein.models.common.base import stable_hash
from skein.models.common.storage import Is, Item, Key, Page, Query, Update, Write
from skein.models.outbox.due import DUE_SHARDS, due_partition

BLOCK = 4_096  # numbers whose shards are computed together

Place = tuple[str, Key]


class GeneratedTable:
    """A `Table` of crowds.

    Args:
        crowds: The generated items; no two crowds with the same kind and seed.
        meter: Counts the calls, and advances the clock by their duration.

    Attributes:
        changed: The items that were written and not finished.
        latest: By kind, the longest time that an item was due before it was moved, in seconds.
    """

    def __init__(self, crowds: Sequence[Crowd], meter: CallMeter) -> None:
        self._crowds = tuple(crowds)
        self._meter = meter
        self._likes = {crowd: _Like.of(crowd) for crowd in crowds}
        self._found = lru_cache(maxsize=BLOCK)(self._find)
        self._touched = {crowd: bytearray(crowd.size // 8 + 1) for crowd in crowds}
        self._untouched_from = dict.fromkeys(product(crowds, range(DUE_SHARDS)), 0)
        self._moved: dict[str, list[Place]] = {}
        self.changed: dict[Key, Item] = {}
        self.latest: dict[str, float] = {}

    # ------------------------------------------------------------------ reads

    def get(self, key: Key) -> Item | None:
        """See `skein.ports.Table`."""
        check_key(key)
        item = self._item(key)
        self._meter.call("get", reads=read_units(self._like(key).size if item else 0))
        return item

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `skein.ports.Table`."""
        check_batch(keys)
        found = {key: item for key in dict.fromkeys(keys) if (item := self._item(key))}
        sizes = [self._like(key).size if key in found else 0 for key in dict.fromkeys(keys)]
        self._meter.call("get_many", reads=sum(map(read_units, sizes)), size=sum(sizes))
        return found

    def query(self, query: Query) -> Page:
        """See `skein.ports.Table`; only for the due index, with one call per MB."""
        check_query(query)
        if query.newest_first or query.index != "gsi2":
            self._refuse()
        if is_impossible(query):
            return Page(())
        start = query.start
        after = (start["gsi2sk"], Key(start["pk"], start["sk"])) if start else None
        items, size = [], 0
        for position in islice(self._places(query.pk, query.first, query.last, after), query.limit):
            sort_key, key = position
            items.append({"pk": key.pk, "sk": key.sk, "gsi2pk": query.pk, "gsi2sk": sort_key})
            size += sum(map(len, (*items[-1], *items[-1].values())))
            if size >= PAGE_BYTES:
                self._meter.call("query_index", reads=EVENTUAL * read_units(size), size=size)
                size = 0
        self._meter.call("query_index", reads=EVENTUAL * read_units(size), size=size)
        return Page(tuple(items), items[-1] if len(items) == query.limit else None)

    # ------------------------------------------------------------------ writes

    def write(self, write: Write) -> None:
        """See `skein.ports.Table`; only for updates with an optimistic lock."""
        check_write(write)
        if not (isinstance(write, Update) and isinstance(write.condition, Is)) or write.add:
            self._refuse()
        key, item = write.key, self._item(write.key)
        if item is None or item.get(write.condition.attribute) != write.condition.value:
            units = write_units(self._like(key).size if item else 0)
            self._meter.call("write", writes=units)
            raise ConditionFailed(frozenset({0}))
        after = {n: v for n, v in (item | dict(write.set)).items() if v is not None}
        like = self._like(key)
        rows = like.row_units * (("gsi2sk" in item) + ("gsi2sk" in after))
        same = item.get("gsi2sk") == after.get("gsi2sk")
        self._meter.call("write", writes=write_units(like.size) + (0 if same else rows))
        self._note_lateness(item)
        self._replace(key, item, after)

    def transact(self, writes: Sequence[Write]) -> None:
        """Refuse transactions: the simulated functions make none."""
        self._refuse()

    def finish(self, key: Key) -> bool:
        """Finish the work of an item, so that the item is no longer due.

        Returns:
            Whether the item was still due.
        """
        item = self._item(key)
        if item is None or "gsi2sk" not in item:
            return False
        self._replace(key, item, None)
        return True

    # ------------------------------------------------------------------ what is kept

    def _replace(self, key: Key, before: Item, after: Item | None) -> None:
        crowd, number = self._look_up(key)
        if self._is_touched(crowd, number) and "gsi2sk" in before:
            places = self._moved[before["gsi2pk"]]
            del places[bisect_left(places, (before["gsi2sk"], key))]
        self._touched[crowd][number >> 3] |= 1 << (number & 7)
        self.changed.pop(key, None)
        if after is not None:
            self.changed[key] = after
            if "gsi2sk" in after:
                insort(self._moved.setdefault(after["gsi2pk"], []), (after["gsi2sk"], key))

    def _note_lateness(self, item: Item) -> None:
        due = datetime.fromisoformat(item["gsi2sk"].partition("#")[0])
        kind = item["gsi2pk"].split("#")[1]
        late = (self._meter.clock.now() - due).total_seconds()
        self.latest[kind] = max(late, self.latest.get(kind, 0.0))

    # ------------------------------------------------------------------ what is made

    def _look_up(self, key: Key) -> tuple[Crowd, int]:
        found = self._found(key)
        if found is None:
            raise KeyError(key)
        return found

    def _find(self, key: Key) -> tuple[Crowd, int] | None:
        for crowd in self._crowds:
            number = crowd.number(key)
            if number is not None:
                return crowd, number
        return None

    def _item(self, key: Key) -> Item | None:
        if key in self.changed:
            return dict(self.changed[key])
        found = self._found(key)
        return None if found is None or self._is_touched(*found) else dict(_made(*found))

    def _is_touched(self, crowd: Crowd, number: int) -> bool:
        return bool(self._touched[crowd][number >> 3] & 1 << (number & 7))

    def _like(self, key: Key) -> "_Like":
        return self._likes[self._look_up(key)[0]]

    def _places(self, pk: str, first: str, last: str, after: Place | None) -> Iterator[Place]:
        """Yield the entries of an index partition in order, after `after`."""
        made = (
            self._untouched(crowd, shard, max(first, after[0] if after else ""))
            for crowd in self._crowds
            for shard in range(DUE_SHARDS)
            if due_partition(crowd.kind, shard) == pk
        )
        moved = self._moved.get(pk, [])
        begin = bisect_left(moved, after or (first, Key("", "")))
        kept = (moved[position] for position in range(begin, len(moved)))
        for position in merge(kept, *made):
            if position[0] > last:
                return
            if position[0] >= first and (after is None or position > after):
                yield position

    def _untouched(self, crowd: Crowd, shard: int, first: str) -> Iterator[Place]:
        low = self._untouched_from[crowd, shard]
        if crowd.sort_key(min(low, crowd.size - 1)) < first:
            low = bisect_left(range(crowd.size), first, lo=low, key=crowd.sort_key)
            leading = False
        else:
            leading = True  # changed items at the beginning are skipped from now on
        while low < crowd.size:
            for number in _numbers(crowd, low // BLOCK)[shard]:
                if number < low:
                    continue
                if not self._is_touched(crowd, number):
                    leading = False
                    yield crowd.sort_key(number), crowd.key(number)
                elif leading:
                    self._untouched_from[crowd, shard] = number + 1
            low = (low // BLOCK + 1) * BLOCK

    @staticmethod
    def _refuse() -> NoReturn:
        raise NotImplementedError(
            "the generated table supports only the calls of the tick and the finders"
        )


class _Like(NamedTuple):
    """Sizes that all items of a crowd share.

    Attributes:
        size: The bytes of an item whose due pointer has been moved.
        row_units: The write units of an item's entry in the index.
    """

    size: int
    row_units: int

    @classmethod
    def of(cls, crowd: Crowd) -> "_Like":
        mark = {"gsi2pk": due_partition(crowd.kind, 0), "gsi2sk": crowd.sort_key(0)}
        size = size_of(crowd.item(0) | mark | {"due_tries": 1})
        return cls(size, write_units(size_of(mark | crowd.key(0)._asdict())))


@lru_cache(maxsize=BLOCK)
def _made(crowd: Crowd, number: int) -> Item:
    """Return an unchanged item."""
    return crowd.item(number) | {
        "gsi2pk": due_partition(crowd.kind, _shard(crowd, number)),
        "gsi2sk": crowd.sort_key(number),
    }


def _shard(crowd: Crowd, number: int) -> int:
    key = crowd.key(number)
    return stable_hash(f"{key.pk}|{key.sk}") % DUE_SHARDS


@lru_cache(maxsize=64)
def _numbers(crowd: Crowd, block: int) -> list[list[int]]:
    """Return the numbers of a block, by shard."""
    shards: list[list[int]] = [[] for _ in range(DUE_SHARDS)]
    for number in range(block * BLOCK, min((block + 1) * BLOCK, crowd.size)):
        shards[_shard(crowd, number)].append(number)
    return shards
