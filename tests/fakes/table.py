"""The table in memory: DynamoDB's behaviour, as far as Skein uses it, for fast tests.

It keeps items as DynamoDB spells them. That makes every item a copy, rounds nothing that DynamoDB
would not, and lets `True`, `1` and `"1"` differ where DynamoDB tells them apart.
"""

import threading
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from skein.adapters.attributes import (
    AttributeValue,
    StoredItem,
    comparable,
    marshal,
    marshal_item,
    unmarshal_item,
)
from skein.adapters.expiry import living
from skein.adapters.rules import (
    INDEXES,
    TABLE,
    check_batch,
    check_key,
    check_query,
    check_transaction,
    check_write,
    is_impossible,
    schema_of,
)
from skein.errors import ConditionFailed, TooLarge
from skein.models.common.storage import (
    Absent,
    AllOf,
    AnyOf,
    Below,
    Check,
    Condition,
    Delete,
    Exists,
    IndexName,
    Is,
    Item,
    Key,
    Missing,
    Page,
    Present,
    Put,
    Query,
    Update,
    Write,
)
from skein.ports import Clock

MAX_ITEM_BYTES = 400 * 1024
COLLECTION_OVERHEAD = 3
ELEMENT_OVERHEAD = 1
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024

Partition = tuple[IndexName | None, str]
# Where an item stands in a partition: its sort key there, then its own key.
Position = tuple[str, Key]


@dataclass(frozen=True, slots=True)
class Call:
    """One call that the table answered.

    Attributes:
        items: How many items it read or wrote; 0 for a write that was refused.
        bytes: The size of them all, by DynamoDB's rules.
    """

    method: str
    items: int
    bytes: int


class MemoryTable:
    """A `Table` in memory; safe to use from several threads.

    Its indexes are never behind, which DynamoDB's may be.

    Args:
        clock: By which items expire; without one, none does.

    Attributes:
        log: Every call so far, for tests of what things cost.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self.log: list[Call] = []
        self._lock = threading.Lock()
        self._items: dict[Key, StoredItem] = {}
        self._sizes: dict[Key, int] = {}
        self._partitions: dict[Partition, list[Position]] = defaultdict(list)

    def get(self, key: Key) -> Item | None:
        """See `skein.ports.Table`."""
        check_key(key)
        with self._lock:
            found = self._found("get", [key])
        return unmarshal_item(found[0]) if found else None

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `skein.ports.Table`."""
        check_batch(keys)
        if not keys:
            return {}
        with self._lock:
            found = self._found("get_many", dict.fromkeys(keys))
        items = [unmarshal_item(item) for item in found]
        return {Key(item["pk"], item["sk"]): item for item in items}

    def query(self, query: Query) -> Page:
        """See `skein.ports.Table`."""
        check_query(query)
        if is_impossible(query):
            return Page(())
        schema = schema_of(query)
        with self._lock:
            positions = self._partitions.get((query.index, query.pk))
            if not positions:
                self.log.append(Call("query" if query.index is None else "query_index", 0, 0))
                return Page(())
            low = bisect_left(positions, query.first, key=lambda position: position[0])
            high = bisect_right(positions, query.last, key=lambda position: position[0])
            if query.start is not None:
                here = (query.start[schema.sk], Key(query.start["pk"], query.start["sk"]))
                if query.newest_first:
                    high = min(high, bisect_left(positions, here))
                else:
                    low = max(low, bisect_right(positions, here))
            chosen = positions[low:high]
            if query.newest_first:
                chosen.reverse()
            if query.index is None:
                chosen = [position for position in chosen if self._lives(position[1])]
            if query.limit is not None:
                del chosen[query.limit :]
            keys = [key for _, key in chosen]
            if query.index is None:
                found = self._found("query", keys)
            else:
                names = dict.fromkeys((*TABLE, *schema))
                found = [{name: self._items[key][name] for name in names} for key in keys]
                self.log.append(Call("query_index", len(found), sum(map(item_size, found))))
        items = tuple(unmarshal_item(item) for item in found)
        if query.limit is None or len(items) < query.limit:
            return Page(items)
        # DynamoDB does not look ahead either: a full page never knows that it was the last.
        return Page(items, {name: items[-1][name] for name in {*TABLE, *schema}})

    def write(self, write: Write) -> None:
        """See `skein.ports.Table`."""
        check_write(write)
        self._carry_out("write", [write])

    def transact(self, writes: Sequence[Write]) -> None:
        """See `skein.ports.Table`."""
        check_transaction(writes)
        if writes:
            self._carry_out("transact", writes)

    def _carry_out(self, method: str, writes: Sequence[Write]) -> None:
        with self._lock:
            failed = frozenset(
                position
                for position, write in enumerate(writes)
                if write.condition is not None
                and not _holds(write.condition, self._items.get(write.key))
            )
            if failed:
                self.log.append(Call(method, 0, 0))
                raise ConditionFailed(failed)
            after = {
                write.key: _after(write, self._items.get(write.key))
                for write in writes
                if not isinstance(write, Check)
            }
            sizes = {key: item_size(item) for key, item in after.items() if item is not None}
            size = sum(sizes.values())
            if max(sizes.values(), default=0) > MAX_ITEM_BYTES or size > MAX_TRANSACTION_BYTES:
                raise TooLarge("The item is too large for the table.")
            for key, item in after.items():
                self._replace(key, item)
            self._sizes |= sizes
            self.log.append(Call(method, len(writes), size))

    def _replace(self, key: Key, item: StoredItem | None) -> None:
        self._sizes.pop(key, None)
        for partition, position in _places(key, self._items.pop(key, None)):
            positions = self._partitions[partition]
            del positions[bisect_left(positions, position)]
        for partition, position in _places(key, item):
            insort(self._partitions[partition], position)
        if item is not None:
            self._items[key] = item

    def _lives(self, key: Key) -> bool:
        """Whether there is something that has not expired."""
        item = self._items.get(key)
        if item is None or self._clock is None or "expires_at" not in item:
            return item is not None
        return bool(living([unmarshal_item(item)], self._clock.now()))

    def _found(self, method: str, keys: Iterable[Key]) -> list[StoredItem]:
        there = [key for key in keys if self._lives(key)]
        self.log.append(Call(method, len(there), sum(self._sizes[key] for key in there)))
        return [self._items[key] for key in there]


def _places(key: Key, item: StoredItem | None) -> Iterator[tuple[Partition, Position]]:
    if item is None:
        return
    yield (None, key.pk), (key.sk, key)
    for index, schema in INDEXES.items():
        if schema.pk in item and schema.sk in item:
            yield (index, item[schema.pk]["S"]), (item[schema.sk]["S"], key)


def _after(write: Put | Update | Delete, before: StoredItem | None) -> StoredItem | None:
    match write:
        case Delete():
            return None
        case Put():
            item = marshal_item(write.item)
        case Update():
            kept = {} if before is None else before
            item = {name: value for name, value in kept.items() if name not in write.set}
            item |= marshal_item(write.set)
            for name, by in write.add.items():
                old = item.get(name, {"N": "0"})
                if "N" not in old:
                    raise ValueError(f"{name} is no number and cannot be added to")
                item[name] = marshal(Decimal(old["N"]) + by)
    return item | {"pk": {"S": write.key.pk}, "sk": {"S": write.key.sk}}


def _holds(condition: Condition, item: StoredItem | None) -> bool:
    attributes = {} if item is None else item
    match condition:
        case Exists():
            holds = item is not None
        case Missing():
            holds = item is None
        case Present(attribute):
            holds = attribute in attributes
        case Absent(attribute) | Is(attribute, None):
            holds = attribute not in attributes
        case Is(attribute, value):
            holds = attributes.get(attribute) == marshal(value)
        case Below(attribute, value):
            holds = _below(attributes.get(attribute), comparable(value))
        case AllOf(conditions):
            holds = all(_holds(inner, item) for inner in conditions)
        case AnyOf(conditions):
            holds = any(_holds(inner, item) for inner in conditions)
        case _:
            assert_never(condition)
    return holds


def _below(found: AttributeValue | None, limit: AttributeValue) -> bool:
    # Values of two types are never one below the other.
    if found is None or found.keys() != limit.keys():
        return False
    ((kind, bound),) = limit.items()
    if kind == "N":
        return Decimal(found["N"]) < Decimal(bound)
    return bool(found[kind] < bound)


def item_size(stored: StoredItem) -> int:
    """The size of an item in bytes, by DynamoDB's own rules.

    See "DynamoDB Item sizes and formats" in the developer guide; the rule for numbers is an
    approximation there, too.
    """
    return sum(len(name.encode()) + _size(value) for name, value in stored.items())


def _size(spelled: AttributeValue) -> int:
    ((kind, value),) = spelled.items()
    match kind:
        case "S":
            return len(value.encode())
        case "B":
            return len(value)
        case "N":
            digits = len(Decimal(value).normalize().as_tuple().digits)
            return (digits + 1) // 2 + 1
        case "M":
            inner = sum(len(n.encode()) + _size(v) + ELEMENT_OVERHEAD for n, v in value.items())
            return COLLECTION_OVERHEAD + inner
        case "L":
            return COLLECTION_OVERHEAD + sum(_size(v) + ELEMENT_OVERHEAD for v in value)
        case _:
            return 1
