"""Keys, conditions and writes: the types with which services use the table.

The types cover the part of DynamoDB that Skein uses: top-level attributes, conditional writes,
transactions of at most 100 items, and ordered queries of one partition. Every `Table` (see
`skein.ports`) supports all of them, and `tests/contract` checks that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self

from typing_extensions import TypeVar

Item = dict[str, Any]
IndexName = Literal["gsi1", "gsi2"]

META = "META"  # the sort key of a partition's main item, e.g. of the chat in a chat's partition
ENDED = "ENDED#"  # precedes the prefix of items that have ended

HIGHEST_KEY = "\U0010ffff"  # sorts after every other character

MAX_TRANSACTION_ITEMS = 100
MAX_BATCH_GET_KEYS = 100


Entity_co = TypeVar("Entity_co", default=Any, covariant=True)


class Key(NamedTuple, Generic[Entity_co]):
    """The primary key of an item; a `Key[Chat]` is the key of a chat."""

    pk: str
    sk: str


class Reads(Protocol):
    """A source of items: the table, or the items of a batch by their keys."""

    def get(self, key: Key, /) -> Item | None:
        """Return an item; None if there is no such item."""
        ...


class SortKeyPrefix(str):
    """The beginning of all sort keys of one kind of item, e.g. `MSG#`.

    All items of the kind have sort keys from the prefix to `last`. Only models define prefixes.
    """

    __slots__ = ()

    @property
    def last(self) -> str:
        """The inclusive upper end of the sort keys with this prefix."""
        return f"{self}~"

    @property
    def ended(self) -> "SortKeyPrefix":
        """The sort key prefix of items of this kind that have ended."""
        return SortKeyPrefix(f"{ENDED}{self}")

    @property
    def kind(self) -> str:
        """The kind of item that the prefix names; see `key_kind`."""
        return key_kind(self)

    def holds(self, item: Item) -> bool:
        return str(item["sk"]).startswith(self)


def key_kind(sk: str) -> str:
    """Return the kind of item that a sort key names, such as `MSG`.

    The kind stays the same when an item ends, although its sort key changes.
    """
    return sk.removeprefix(ENDED).partition("#")[0]


@dataclass(frozen=True, slots=True)
class Exists:
    """The item exists."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The item does not exist."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The item lacks the attribute; also holds if the item does not exist."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Present:
    """The item has the attribute."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Is:
    """The attribute equals the value; with the value `None`, the attribute is absent."""

    attribute: str
    value: Any


@dataclass(frozen=True, slots=True)
class Below:
    """The attribute is present and less than the value (text: in UTF-8 order)."""

    attribute: str
    value: Any


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of the conditions hold."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the conditions holds."""

    conditions: tuple["Condition", ...]


Condition = Exists | Missing | Absent | Present | Is | Below | AllOf | AnyOf


def all_of(*conditions: Condition) -> AllOf:
    return AllOf(conditions)


def any_of(*conditions: Condition) -> AnyOf:
    return AnyOf(conditions)


def expired(now: datetime) -> Below:
    """Return the condition that the item has expired, but is still stored.

    Reads do not return such an item. Conditions see it until the table drops it, which may take
    days.
    """
    return Below("expires_at", int(now.timestamp()) + 1)


def gone(now: datetime) -> AnyOf:
    """Return the condition that reads find no item: it does not exist or has expired."""
    return any_of(Missing(), expired(now))


def has_expired(item: Item, now: datetime) -> bool:
    expires_at = item.get("expires_at")
    return expires_at is not None and bool(expires_at <= now.timestamp())


def unexpired(items: Iterable[Item], now: datetime) -> list[Item]:
    """Return the items that have not expired; DynamoDB may keep expired items for two days."""
    return [item for item in items if not has_expired(item, now)]


def at_version(version: int) -> Condition:
    """Return the optimistic lock for a version; 0 means that no item exists."""
    return Is("version", version) if version else Missing()


@dataclass(frozen=True, slots=True)
class Put:
    """Create or replace a whole item; attributes that are `None` are omitted."""

    key: Key
    item: Mapping[str, Any]
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Change attributes of an item; a missing item is created, unless a condition prevents that.

    Attributes set to `None` are removed. `add` starts from 0 if the attribute is absent.
    """

    key: Key
    set: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an item; a missing item is not an error, unless the condition requires the item."""

    key: Key
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Change nothing, but fail the transaction unless the condition holds."""

    key: Key
    condition: Condition


Write = Put | Update | Delete | Check


@dataclass(frozen=True, slots=True)
class Query:
    """A read of one partition of the table or an index, ordered by sort key.

    Attributes:
        pk: The partition.
        index: The index to read; None reads the table itself.
        first: The lowest sort key to return.
        last: The highest sort key to return.
        limit: The maximum number of items of the page; None for all items. A query of an index must
            have a limit.
        newest_first: Whether to read from the highest sort key down.
        start: The `next_start` of the page before; None for the first page.
    """

    pk: str
    _: KW_ONLY
    index: IndexName | None = None
    first: str = ""
    last: str = HIGHEST_KEY
    limit: int | None = None
    newest_first: bool = False
    start: Item | None = None

    @classmethod
    def under(
        cls, pk: str, prefix: str, *, limit: int | None = None, newest_first: bool = False
    ) -> Self:
        """Return the query for the items of a partition whose sort keys start with `prefix`."""
        last = SortKeyPrefix(prefix).last
        return cls(pk, first=prefix, last=last, limit=limit, newest_first=newest_first)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a query: items in order, and the start of the next page.

    Attributes:
        items: The items with `pk` and `sk` and, in a query of an index, the two index keys.
        next_start: The `start` of the next page; None at the end. A page that is as long as its
            limit always has a `next_start`, even if no item follows.
    """

    items: tuple[Item, ...]
    next_start: Item | None = None
