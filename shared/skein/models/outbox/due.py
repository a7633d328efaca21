"""Due pointers and leases: when work is due, and which worker has it.

The due index (gsi2) finds an item by its due pointer; an item has at most one. The index only
points to items: a reader of the index must read the item itself to decide whether its work is due.
The index is sharded to spread its load over partitions.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from skein.models.common.base import Instant, Stored, Value, rfc3339, stable_hash
from skein.models.common.storage import Condition, Is, Item, Key

DueKind = Literal[
    "run", "delivery", "chat", "plan", "merge", "erasure", "choice", "event", "desk",
    "outreach", "media", "source", "visit", "trial",
    "direct_consolidation", "consolidation", "fading",
    "pause", "paused_run", "paused_delivery",
]  # fmt: skip
BacklogKind = Literal[
    "run", "delivery", "plan", "chat", "erasure", "paused_run", "paused_delivery"
]  # fmt: skip
"""The kinds of waiting work that operators are shown."""
DUE_SHARDS = 8

NOT_DUE: dict[str, None] = {"gsi2pk": None, "gsi2sk": None, "due_tries": None}


def due_partition(kind: DueKind, shard: int) -> str:
    """Return the partition key in the due index for a kind of work and a shard."""
    return f"DUE#{kind}#{shard}"


def due_pointer(kind: DueKind, key: Key, at: datetime) -> dict[str, Any]:
    """Return the due pointer that makes the item at `key` due at `at`."""
    name = f"{key.pk}|{key.sk}"
    return {
        "gsi2pk": due_partition(kind, stable_hash(name) % DUE_SHARDS),
        "gsi2sk": f"{rfc3339(at)}#{name}",
    }


def due_before(now: datetime) -> str:
    """Return a sort key; in the due index, the pointers with a lower sort key are due at `now`."""
    return f"{rfc3339(now)}~"


def due_time(pointer: Item) -> datetime:
    """Return the time of an item's due pointer."""
    return datetime.fromisoformat(str(pointer["gsi2sk"]).split("#", 1)[0])


def still_due(item: Item) -> Condition:
    """Return the condition that the item's due pointer has not changed (optimistic lock)."""
    return Is("gsi2sk", item["gsi2sk"])


def moved_pointer(item: Item, key: Key) -> dict[str, Any]:
    """Return the due pointer of an item after its move to `key`."""
    kind: DueKind = str(item["gsi2pk"]).split("#")[1]  # type: ignore[assignment]
    return due_pointer(kind, key, due_time(item))


class Lease(Value):
    """A claim of one worker on some work. The claim ends unless the worker renews it.

    A lease must be longer than the longest call that its worker makes between two renewals.

    Attributes:
        fence: The fencing token: each new claim on the same work has a higher token.
        until: When the lease ends.
    """

    fence: Annotated[int, Field(ge=1)]
    until: Instant

    def held(self, now: datetime) -> bool:
        return now < self.until


class LeasedItem(Stored):
    """An item on which one worker at a time works.

    Attributes:
        fence: The fencing token: each claim raises it, and writes of an older claim fail.
        busy_until: The end of the lease of the worker that has claimed the item.
    """

    fence: Annotated[int, Field(exclude_if=lambda fence: not fence)] = 0
    busy_until: Instant | None = None

    def busy(self, now: datetime) -> bool:
        """Return whether a worker has claimed the item and its lease has not ended."""
        return self.busy_until is not None and self.busy_until > now

    def claimed(self, until: datetime) -> Self:
        """Return the item with a claim by a worker whose lease ends at `until`.

        The write of the item must have the condition `as_claimed`.
        """
        return LeasedItem.model_copy(self, update={"fence": self.fence + 1, "busy_until": until})

    @property
    def as_claimed(self) -> Condition:
        """The condition that no worker has claimed the item since it was read."""
        return fence_is(self.fence or None)


def fence_is(fence: int | None) -> Is:
    """Return the condition that no worker has claimed an item since it was read.

    Args:
        fence: The fencing token as it was read; None if the item has none.
    """
    return Is("fence", fence)
