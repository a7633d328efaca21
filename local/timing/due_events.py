"""Lists the events that fire at a later time, with their times. It fires nothing itself."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from local.timing.due_index import DueIndex, due_at, key_of
from skein.models.chats.chat import Chat
from skein.models.common.base import rfc3339
from skein.models.common.storage import Item, Key
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.outbox.due import DueKind
from skein.ports import Table
from skein.services.common.pagination import read_items
from skein.services.outbox.pause_scanner import HELD_BACK

# Work that a pause holds back has no due time. The pause is due at its end.
KINDS: tuple[DueKind, ...] = tuple(kind for kind in get_args(DueKind) if kind not in HELD_BACK)
MAX_EVENTS = 100
IDS = ("tenant", "id", "agent_id", "chat_id", "user_id", "name", "instruction")
CHAT_IDS = ("chat_id", "for_chat_id", "source_chat_id")
KEYS: Mapping[str, Callable[[str, str], Key]] = {
    "agent": Agent.key_of,
    "chat": Chat.key_of,
    "user": User.key_of,
}


@dataclass(frozen=True, slots=True)
class DueEvents:
    """Lists the events that fire at a later time."""

    table: Table
    due_index: DueIndex

    def first(self, limit: int) -> tuple[list[dict[str, object]], bool]:
        """Return the earliest events as JSON objects, and whether there are more.

        Args:
            limit: The maximum number of events, from 1 to `MAX_EVENTS`.
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
            {"kind": kind, "at": rfc3339(at), **_ids(kind, item)}
            for at, kind, pointer in found[:limit]
            if (item := items.get(key_of(pointer))) is not None
        ]
        names = self._names(events)
        return [event | _named(event, names) for event in events], len(found) > limit

    def _names(self, events: Sequence[Mapping[str, Any]]) -> Mapping[Key, str]:
        """Return the names of the agents, chats and people in these events, by their keys."""
        keys = list({key for event in events for key in _keys(event).values()})
        return {key: _name(item) for key, item in read_items(self.table, keys).items()}


def _ids(kind: DueKind, item: Item) -> dict[str, Any]:
    """Return the ids and the plan of a due item, with None for what the item does not have."""
    ids: dict[str, Any] = {name: item.get(name) for name in IDS}
    if kind == "chat":
        ids["chat_id"] = item["id"]
    elif kind == "merge":
        ids["user_id"] = item["id"]
    else:
        ids["chat_id"] = next((item[name] for name in CHAT_IDS if item.get(name)), None)
    return ids


def _keys(event: Mapping[str, Any]) -> Mapping[str, Key]:
    """Return the keys of an event's agent, chat and person.

    Each key is under the field of the event that gets the name of the agent, chat or person.
    """
    return {
        f"{kind}_name": key_of_id(event["tenant"], event[f"{kind}_id"])
        for kind, key_of_id in KEYS.items()
        if event[f"{kind}_id"] is not None
    }


def _named(event: Mapping[str, Any], names: Mapping[Key, str]) -> dict[str, str | None]:
    keys = _keys(event)
    fields = (f"{kind}_name" for kind in KEYS)
    return {field: names.get(keys[field]) if field in keys else None for field in fields}


def _name(item: Item) -> str:
    """Return the name of an agent or a person; for a chat, its title or its members."""
    named = item.get("name") or item.get("title")
    return str(named or ", ".join(member["name"] for member in item.get("roster", ())))
