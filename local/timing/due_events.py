"""The events that fire at a later time: what is due, and when, without doing anything."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from local.timing.due_index import DueIndex, due_at, key_of
from skein.models.common.base import rfc3339
from skein.models.common.storage import Item
from skein.models.outbox.due import DueKind
from skein.ports import Table
from skein.services.outbox.pause_scanner import HELD_BACK

# Work that a pause holds back has no time of its own: the end of the pause has one.
KINDS: tuple[DueKind, ...] = tuple(kind for kind in get_args(DueKind) if kind not in HELD_BACK)
MAX_EVENTS = 100
NAMES = ("tenant", "id", "agent_id", "chat_id", "user_id", "name")


@dataclass(frozen=True, slots=True)
class DueEvents:
    """Reader of the events that fire at a later time.

    Args:
        table: The table.
        due_index: The due index of the table.
    """

    table: Table
    due_index: DueIndex

    def first(self, limit: int) -> tuple[list[dict[str, object]], bool]:
        """Return the earliest events as JSON objects, and whether there are more.

        Args:
            limit: The most events, from 1 to `MAX_EVENTS`.
        """
        found = heapq.nsmallest(
            limit + 1,
            (
                (due_at(pointer), kind, pointer)
                for kind in KINDS
                for pointer in self.due_index.earliest_pointers(kind, limit + 1)
            ),
            key=lambda event: event[:2],
        )
        items = self.table.get_many([key_of(pointer) for _, _, pointer in found[:limit]])
        events = [
            {"kind": kind, "at": rfc3339(at), **_names(kind, item)}
            for at, kind, pointer in found[:limit]
            if (item := items.get(key_of(pointer))) is not None
        ]
        return events, len(found) > limit


def _names(kind: DueKind, item: Item) -> Mapping[str, object]:
    """Return the ids and the name of what is due; None for what the item does not have."""
    names: dict[str, object] = {name: item.get(name) for name in NAMES}
    if kind == "chat":
        names["chat_id"] = item["id"]
    elif kind == "run":
        names["chat_id"] = item.get("chat_id") or item.get("for_chat_id")
    return names
