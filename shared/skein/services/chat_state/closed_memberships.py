"""Move closed memberships out of the range that posts read, and back on a re-join.

Each move is one transaction, on the condition that the item is as it was read (optimistic lock). So
no concurrent write is lost, and a member always has exactly one membership in a chat. Attributes
that this version does not know are kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from skein.errors import ConditionFailed
from skein.models.chats.chat import Chat, Membership, listed_as_left
from skein.models.common.base import MemberRef
from skein.models.common.storage import (
    MAX_TRANSACTION_ITEMS,
    Condition,
    Delete,
    Is,
    Item,
    Key,
    Missing,
    Present,
    Put,
    Update,
    Write,
    all_of,
)
from skein.ports import Table

KEYS = frozenset({"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"})


def read_membership(table: Table, tenant: str, chat_id: str, ref: MemberRef) -> Membership | None:
    """Read a membership, open or closed; None if there never was one."""
    items = (table.get(key) for key in membership_keys(tenant, chat_id, ref))
    return next((Membership.from_item(item) for item in items if item is not None), None)


def membership_keys(tenant: str, chat_id: str, ref: MemberRef) -> list[Key]:
    """Return the two keys of a membership: the open one first, then the closed one."""
    return [
        Membership.key_of(tenant, chat_id, ref),
        Membership.left_key_of(tenant, chat_id, ref),
    ]


def item_at(table: Table, key: Key) -> Item:
    """Read the item that a move will replace.

    Raises:
        ConditionFailed: The item is gone; read the chat again.
    """
    item = table.get(key)
    if item is None:
        raise ConditionFailed(frozenset())
    return item


def closing(item: Item, changes: Mapping[str, Any]) -> list[Write]:
    """Return the writes that close a membership and move its item.

    Args:
        item: The membership as it was read.
        changes: The attributes to set, including `left_seq`; None removes an attribute.
    """
    attributes = _attributes(item) | dict(changes)
    closed = Membership.from_item({name: v for name, v in attributes.items() if v is not None})
    listed = attributes | listed_as_left(closed)
    return [Delete(_key(item), _as_read(item)), Put(closed.key, listed, Missing())]


def opening(item: Item, chat: Chat, changes: Mapping[str, Any]) -> list[Write]:
    """Return the writes that reopen a closed membership, with all attributes of its item.

    Args:
        item: The closed membership as it was read, under either key.
        chat: The chat, from which the attributes of the member's list of chats come.
        changes: The attributes to set; None removes an attribute.
    """
    membership = Membership.from_item(item)
    opened = dict(changes) | {"left_seq": None} | membership.relation(chat, chat.activity_hour)
    if membership.unmoved:
        still_closed = all_of(Present("left_seq"), Is("left_seq", membership.left_seq))
        return [Update(membership.key, set=opened, condition=still_closed)]
    key = Membership.key_of(membership.tenant, membership.chat_id, membership.member)
    return [
        Delete(membership.key, _as_read(item)),
        Put(key, _attributes(item) | opened, Missing()),
    ]


def move_closed(table: Table, memberships: Sequence[Membership]) -> int:
    """Move closed memberships that older versions left among the open ones (idempotent).

    If a membership changes at the same time, its whole batch of up to half a transaction stays in
    place; a later call moves it.

    Returns:
        The number of memberships that were moved.
    """
    keys = [membership.key for membership in memberships if membership.unmoved]
    moved = 0
    for start in range(0, len(keys), MAX_TRANSACTION_ITEMS // 2):
        found = table.get_many(keys[start : start + MAX_TRANSACTION_ITEMS // 2])
        items = [item for item in found.values() if item.get("left_seq") is not None]
        if not items:
            continue
        try:
            table.transact([write for item in items for write in closing(item, {})])
        except ConditionFailed:
            continue
        moved += len(items)
    return moved


def _key(item: Item) -> Key:
    return Key(item["pk"], item["sk"])


def _attributes(item: Item) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in KEYS}


def _as_read(item: Item) -> Condition:
    """Return the condition that no attribute has changed, and no known attribute was added."""
    names = sorted((Membership.model_fields.keys() | _attributes(item).keys()) - {"unmoved"})
    return all_of(*(Is(name, item.get(name)) for name in names))
