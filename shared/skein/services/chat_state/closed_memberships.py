"""Keep former members' memberships under keys of their own, which posting does not read.

A membership moves back when the member joins again. Each move is one transaction, which fails if
the item has changed since it was read (optimistic lock). So a move never loses a concurrent write,
and a member always has exactly one membership in a chat.
"""

from collections.abc import Mapping
from typing import Any

from skein.errors import ConditionFailed
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership, listed_as_left
from skein.models.common.base import MemberRef
from skein.models.common.storage import (
    Condition,
    Delete,
    Is,
    Item,
    Key,
    Missing,
    Put,
    Write,
    all_of,
)
from skein.ports import Table

KEYS = frozenset({"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"})


def read_membership(table: Table, tenant: str, chat_id: str, ref: MemberRef) -> Membership | None:
    """Read the membership of a current or former member; return None if there is none."""
    known = (Membership.read(table, key) for key in membership_keys(tenant, chat_id, ref))
    return next(filter(None, known), None)


def membership_keys(tenant: str, chat_id: str, ref: MemberRef) -> list[Key]:
    """Return the two possible keys of a membership: as a current member, as a former member."""
    return [
        Membership.key_of(tenant, chat_id, ref),
        Membership.left_key_of(tenant, chat_id, ref),
    ]


def item_at(table: Table, key: Key) -> Item:
    """Read the item of a membership, in order to move it.

    Raises:
        ConditionFailed: The item no longer exists; the caller must read the chat again.
    """
    item = table.get(key)
    if item is None:
        raise ConditionFailed(frozenset())
    return item


def closing(item: Item, changes: Mapping[str, Any]) -> list[Write]:
    """Return the writes that close a membership and move its item to the closed key.

    Args:
        item: The membership as it was read.
        changes: The attributes to set, including `left_seq`; None removes an attribute.
    """
    attributes = _attributes(item) | dict(changes)
    closed = Membership.from_item({name: v for name, v in attributes.items() if v is not None})
    listed = attributes | listed_as_left(closed)
    return [Delete(_key(item), _as_read(item)), Put(closed.key, listed, Missing())]


def opening(item: Item, chat: Chat, changes: Mapping[str, Any]) -> list[Write]:
    """Return the writes that reopen a closed membership and move its item to the open key.

    The item keeps the attributes that `changes` does not set.

    Args:
        item: The closed membership as it was read.
        chat: The chat. Its last activity determines its place in the member's list of chats.
        changes: The attributes to set; None removes an attribute.
    """
    membership = Membership.from_item(item)
    opened = dict(changes) | {"left_seq": None} | membership.relation(chat, chat.activity_hour)
    key = Membership.key_of(membership.tenant, membership.chat_id, membership.member)
    return [
        Delete(membership.key, _as_read(item)),
        Put(key, _attributes(item) | opened, Missing()),
    ]


def _key(item: Item) -> Key:
    return Key(item["pk"], item["sk"])


def _attributes(item: Item) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in KEYS}


def _as_read(item: Item) -> Condition:
    """Return the condition that no attribute has changed or was added since the item was read."""
    names = sorted(Membership.model_fields.keys() | _attributes(item).keys())
    return all_of(*(Is(name, item.get(name)) for name in names))
