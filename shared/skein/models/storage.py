"""The vocabulary in which services speak to the table: keys, conditions and writes.

It is the part of DynamoDB that Skein uses, and no more: top-level attributes, conditional writes,
all-or-nothing transactions of at most 100 items, and ordered queries of one partition. Every
`Table` (see `skein.ports`) understands all of it, and `tests/contract` holds them to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

Item = dict[str, Any]
IndexName = Literal["gsi1", "gsi2"]

META = "META"  # the sort key of the item that a partition is named after
ENDED = "ENDED#"  # before the prefix of what has ended

MAX_TRANSACTION_ITEMS = 100
MAX_BATCH_GET_KEYS = 100


class Key(NamedTuple):
    """The primary key of an item."""

    pk: str
    sk: str


class SortKeyPrefix(str):
    """The start of all sort keys of one kind of item, e.g. `MSG#`.

    The items of a kind lie between the prefix and `last`. Only models spell prefixes.
    """

    __slots__ = ()

    @property
    def last(self) -> str:
        """The inclusive upper end of the sort keys with this prefix."""
        return f"{self}~"

    @property
    def ended(self) -> "SortKeyPrefix":
        """The prefix of items of the same kind that have ended."""
        return SortKeyPrefix(f"{ENDED}{self}")

    @property
    def kind(self) -> str:
        """The kind of item that it stands for; see `key_kind`."""
        return key_kind(self)

    def holds(self, item: Item) -> bool:
        """Whether the sort key of an item starts with this prefix."""
        return str(item["sk"]).startswith(self)


def key_kind(sk: str) -> str:
    """Return the kind of item that a sort key names, whether or not the item has ended."""
    return sk.removeprefix(ENDED).partition("#")[0]


@dataclass(frozen=True, slots=True)
class Exists:
    """The item is there."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The item is not there."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The item has no such attribute; also true when there is no item."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Present:
    """The item has the attribute."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Is:
    """The attribute has this value; with `None` as the value, the attribute is absent."""

    attribute: str
    value: Any


@dataclass(frozen=True, slots=True)
class Below:
    """The attribute is there and less than the value (numbers, or text by its UTF-8 bytes)."""

    attribute: str
    value: Any


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of the conditions holds."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the conditions holds."""

    conditions: tuple["Condition", ...]


Condition = Exists | Missing | Absent | Present | Is | Below | AllOf | AnyOf


def all_of(*conditions: Condition) -> AllOf:
    """Every one of `conditions` holds."""
    return AllOf(conditions)


def any_of(*conditions: Condition) -> AnyOf:
    """At least one of `conditions` holds."""
    return AnyOf(conditions)


def expired(now: datetime) -> Below:
    """The item is in the table still, but no read shows it any more.

    Conditions see such an item for as long as the table takes to drop it, which may be days.
    """
    return Below("expires_at", int(now.timestamp()) + 1)


def gone(now: datetime) -> AnyOf:
    """No read shows the item: there is none, or it has expired."""
    return any_of(Missing(), expired(now))


def has_expired(item: Item, now: datetime) -> bool:
    """Whether an item says that it is as good as gone."""
    expires_at = item.get("expires_at")
    return expires_at is not None and bool(expires_at <= now.timestamp())


def at_version(version: int) -> Condition:
    """The item is at the version that was read; 0 stands for an item that is not there."""
    return Is("version", version) if version else Missing()


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole item, replacing what was there; attributes that are `None` are left out."""

    key: Key
    item: Mapping[str, Any]
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Change some attributes of an item; without a condition, a missing item is created.

    Attributes set to `None` are removed. `add` counts from 0 when the attribute is absent.
    """

    key: Key
    set: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an item; removing what is not there is no error unless the condition says so."""

    key: Key
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Change nothing, but let the transaction fail unless the condition holds."""

    key: Key
    condition: Condition


Write = Put | Update | Delete | Check


@dataclass(frozen=True, slots=True)
class Page:
    """Some items of a query, in order, and where to go on.

    Attributes:
        items: The items with their `pk` and `sk` and, in a query of an index, its two keys.
        next_start: Pass it as `start` to read on; None at the end. A page that is as long as its
            limit always has one, even if nothing follows.
    """

    items: tuple[Item, ...]
    next_start: Item | None = None
