"""Millions of due items, each created from its number when it is read.

Skein's own models create one item of a crowd. The others differ only in their ids.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any

from skein.models.chats.chat import SmsAddress
from skein.models.common.audience import OPEN
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.ownership import owned_partition
from skein.models.common.storage import Item, Key
from skein.models.delivery.delivery import Delivery
from skein.models.memory.consolidation import Consolidation
from skein.models.memory.memory import Memory
from skein.models.outbox.due import DueKind
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger

TENANT = "acme"
ENTRIES_OF_AN_AGENT = 20
MOST = 1_000_000_000
DIGITS = 11
RECENT = 1 << 14  # cached keys and times, which a batch needs several times
MARKS = frozenset({"gsi2pk", "gsi2sk", "due_tries"})


@dataclass(frozen=True)
class Kind:
    """How items of a kind are created from their numbers.

    Attributes:
        made: Creates one item by its model.
        own: Returns the attributes that differ between items.
        key: Returns an item's key; a greater number gives a greater key.
        number: Returns the part of a key that ends with the number.
    """

    made: Callable[[int, datetime], Item]
    own: Callable[[int], dict[str, Any]]
    key: Callable[[int], Key]
    number: Callable[[Key], str]


@dataclass(frozen=True, eq=False)
class Crowd:
    """Due items of one kind; an item with a higher number is due later.

    Args:
        size: The number of items.
        first: The time at which the first item is due.
        together: The number of items that are due at the same time.
        every: The time between two such groups.
        seed: 0 to 99; two crowds of one kind need different seeds, for different ids.
    """

    kind: DueKind
    size: int
    first: datetime
    together: int = MOST
    every: timedelta = timedelta(0)
    seed: int = 1

    def at(self, number: int) -> datetime:
        """Return when an unchanged item is due."""
        return self.first + number // self.together * self.every

    def key(self, number: int) -> Key:
        """Return the key of an item."""
        return _key(self.kind, self.seed * MOST + number)

    def item(self, number: int) -> Item:
        """Return an item without its due pointer."""
        own = KINDS[self.kind].own(self.seed * MOST + number)
        return {**self._prototype, **own, **self.key(number)._asdict()}

    def number(self, key: Key) -> int | None:
        """Return the number of the item with this key; None if there is none in this crowd."""
        digits = KINDS[self.kind].number(key)[-DIGITS:]
        if not digits.isdigit() or int(digits) // MOST != self.seed:
            return None
        number = int(digits) % MOST
        return number if number < self.size and self.key(number) == key else None

    def sort_key(self, number: int) -> str:
        """Return the sort key of an unchanged item in the due index."""
        key = self.key(number)
        return f"{_spelled(self.at(number))}#{key.pk}|{key.sk}"

    @cached_property
    def _prototype(self) -> Item:
        made = KINDS[self.kind].made(self.seed * MOST, self.first)
        return {name: made[name] for name in made if name not in MARKS and made[name] is not None}


@lru_cache(maxsize=RECENT)
def _key(kind: DueKind, name: int) -> Key:
    return KINDS[kind].key(name)


@lru_cache(maxsize=RECENT)
def _spelled(moment: datetime) -> str:
    return rfc3339(moment)


def _chat(name: int) -> str:
    return f"chat_{name:0{DIGITS}d}"


def _own_run(name: int) -> dict[str, Any]:
    return {"id": f"run_{name:026d}_{_chat(name)}", "chat_id": _chat(name)}


def _run(name: int, at: datetime) -> Item:
    person = MemberRef(kind="user", id="usr_1")
    trigger = Trigger(type="chat_message", seq=7, from_seq=7, by=person)
    own = _own_run(name)
    return Run(tenant=TENANT, agent_id="agt_1", trigger=trigger, created_at=at, **own).to_item(at)


def _own_delivery(name: int) -> dict[str, Any]:
    return {"id": f"dlv_{name:026d}", "chat_id": _chat(name)}


def _delivery(name: int, at: datetime) -> Item:
    phone = SmsAddress(line="+15005550006", phone="+15005550100")
    own = _own_delivery(name)
    return Delivery(tenant=TENANT, user_id="usr_1", seq=7, to=phone, created_at=at, **own).to_item(
        at
    )


def _own_consolidation(name: int) -> dict[str, Any]:
    return {"chat_id": _chat(name)}


def _consolidation(name: int, at: datetime) -> Item:
    return Consolidation(tenant=TENANT, **_own_consolidation(name)).to_item(at)


def _direct_consolidation(name: int, at: datetime) -> Item:
    own = _own_consolidation(name)
    return Consolidation(tenant=TENANT, kind="direct", **own).to_item(at)


def _own_entry(name: int) -> dict[str, Any]:
    agent = f"agt_{name // ENTRIES_OF_AN_AGENT:0{DIGITS}d}"
    return {"id": f"mem_{name:026d}", "agent_id": agent}


def _entry(name: int, at: datetime) -> Item:
    return Memory(
        tenant=TENANT,
        kind="journal",
        text="Husam has moved the long run to Sunday, since his knee hurts.",
        made_by="consolidation",
        audience=OPEN,
        fades_at=at + timedelta(days=3),
        created_at=at - timedelta(days=4),
        **_own_entry(name),
    ).to_item()


def _entry_key(name: int) -> Key:
    own = _own_entry(name)
    partition = owned_partition(TENANT, own["agent_id"], None)
    return Key(partition, Memory.live_prefix("journal") + own["id"])


KINDS: dict[DueKind, Kind] = {
    "run": Kind(
        _run,
        _own_run,
        lambda name: Run.key_of(TENANT, _own_run(name)["id"]),
        lambda key: key.sk,
    ),
    "delivery": Kind(
        _delivery,
        _own_delivery,
        lambda name: Delivery.key_of(TENANT, _chat(name), _own_delivery(name)["id"]),
        lambda key: key.sk,
    ),
    "consolidation": Kind(
        _consolidation,
        _own_consolidation,
        lambda name: Consolidation.key_of(TENANT, _chat(name)),
        lambda key: key.pk,
    ),
    "direct_consolidation": Kind(
        _direct_consolidation,
        _own_consolidation,
        lambda name: Consolidation.key_of(TENANT, _chat(name)),
        lambda key: key.pk,
    ),
    "fading": Kind(_entry, _own_entry, _entry_key, lambda key: key.sk),
}
