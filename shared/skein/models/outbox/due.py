"""Due pointers, by which the due index (gsi2) finds items.

An item has at most one due pointer. The index only points to items: a reader of the index must read
the item itself to decide. The index is sharded to spread its load over partitions.
"""

from datetime import datetime
from typing import Any, Literal

from skein.models.common.base import rfc3339, stable_hash
from skein.models.common.storage import Condition, Is, Item, Key

DueKind = Literal[
    "run", "delivery", "chat", "plan", "merge", "erasure", "choice", "event", "desk",
    "outreach", "media",
    "direct_consolidation", "consolidation", "fading",
    "pause", "paused_run", "paused_delivery",
]  # fmt: skip
BacklogKind = Literal[
    "run", "delivery", "plan", "chat", "erasure", "paused_run", "paused_delivery"
]  # fmt: skip
"""The kinds of work that operators are shown as waiting."""
DUE_SHARDS = 8

NOT_DUE: dict[str, None] = {"gsi2pk": None, "gsi2sk": None, "due_tries": None}


def due_partition(kind: DueKind, shard: int) -> str:
    """Return the index partition key of one shard of a kind."""
    return f"DUE#{kind}#{shard}"


def due_pointer(kind: DueKind, key: Key, at: datetime) -> dict[str, Any]:
    """Return the due pointer that makes the item at `key` due at `at`."""
    name = f"{key.pk}|{key.sk}"
    return {
        "gsi2pk": due_partition(kind, stable_hash(name) % DUE_SHARDS),
        "gsi2sk": f"{rfc3339(at)}#{name}",
    }


def due_before(now: datetime) -> str:
    """Return the exclusive upper end of the sort keys that are due at `now`."""
    return f"{rfc3339(now)}~"


def due_time(pointer: Item) -> datetime:
    """Return the time of an item's due pointer."""
    return datetime.fromisoformat(str(pointer["gsi2sk"]).split("#", 1)[0])


def still_due(item: Item) -> Condition:
    """Return the condition that nobody has changed the item's due pointer (optimistic lock)."""
    return Is("gsi2sk", item["gsi2sk"])


def moved_pointer(item: Item, key: Key) -> dict[str, Any]:
    """Return the due pointer of an item after its move to `key`."""
    kind: DueKind = str(item["gsi2pk"]).split("#")[1]  # type: ignore[assignment]
    return due_pointer(kind, key, due_time(item))
