"""Marks of the due index (gsi2): what must happen later, and when.

An item carries at most one mark. The index only points: whoever finds a mark reads the item itself
and lets that decide. Sharded, so that no partition of the index takes more than its share.
"""

from datetime import datetime
from typing import Any, Literal

from skein.models.base import rfc3339, stable_hash
from skein.models.storage import Condition, Is, Item, Key

DueKind = Literal["run", "delivery", "chat", "plan", "merge", "consolidation", "fading", "erasure"]
DUE_SHARDS = 8

NOT_DUE: dict[str, None] = {"gsi2pk": None, "gsi2sk": None, "due_tries": None}


def due_partition(kind: DueKind, shard: int) -> str:
    """The index partition that holds one shard of one kind."""
    return f"DUE#{kind}#{shard}"


def due_mark(kind: DueKind, key: Key, at: datetime) -> dict[str, Any]:
    """The attributes that make the item at `key` due at `at`."""
    name = f"{key.pk}|{key.sk}"
    return {
        "gsi2pk": due_partition(kind, stable_hash(name) % DUE_SHARDS),
        "gsi2sk": f"{rfc3339(at)}#{name}",
    }


def due_before(now: datetime) -> str:
    """The exclusive upper end of the sort keys that are due at `now`."""
    return f"{rfc3339(now)}~"


def still_due(item: Item) -> Condition:
    """The item's mark is the one that was read, so nobody has moved or cleared it."""
    return Is("gsi2sk", item["gsi2sk"])


def moved_mark(item: Item, key: Key) -> dict[str, Any]:
    """The attributes that make a due item due at the same time under another key."""
    kind: DueKind = str(item["gsi2pk"]).split("#")[1]  # type: ignore[assignment]
    at = datetime.fromisoformat(str(item["gsi2sk"]).split("#", 1)[0])
    return due_mark(kind, key, at)
