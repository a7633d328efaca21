"""Detach addresses: stop messages to addresses that a user has lost.

A membership stores the address to which answers are sent (`route`). Each delivery also checks that
the user still has the address, so nothing is sent to a lost address even if a membership is cleared
late.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from skein.errors import ConditionFailed
from skein.models.chats.membership import Membership, member_relation, related_chat
from skein.models.common.address import Address
from skein.models.common.base import MemberRef
from skein.models.common.storage import (
    MAX_BATCH_GET_KEYS,
    MAX_TRANSACTION_ITEMS,
    Is,
    Query,
    Update,
    Write,
)
from skein.models.directory.address_index import AddressChat, address_partition
from skein.models.directory.user import User
from skein.ports import Table
from skein.services.common.pagination import pages_of_relation


def detach_addresses(
    table: Table, user: User, addresses: Collection[Address], writes: Sequence[Write]
) -> None:
    """Commit the writes that detach addresses, and clear the addresses from memberships.

    The transaction clears as many memberships as fit. The remaining memberships are cleared one by
    one afterwards. After a crash, `detach_elsewhere` clears the memberships that still have an
    address.

    Args:
        user: The user with the addresses, as it was read.
        addresses: The addresses to detach.
        writes: The writes that detach the addresses, at most 100.

    Raises:
        ConditionFailed: An item has changed since it was read; nothing was written.
    """
    updates = [update for address in addresses for update in _detached(table, user, address)]
    fitting = MAX_TRANSACTION_ITEMS - len(writes)
    table.transact([*writes, *updates[:fitting]])
    _write_each(table, updates[fitting:])


def detach_elsewhere(table: Table, user: User, addresses: Collection[Address]) -> None:
    """Clear addresses from all memberships of a user (idempotent)."""
    if not addresses:
        return
    person = MemberRef(kind="user", id=user.id)
    relation = member_relation(user.tenant, person)
    for rows in pages_of_relation(table, relation, newest_first=True):
        chats = [related_chat(row) for row in rows]
        _write_each(table, _detached_in(table, user, addresses, chats))


def _detached(table: Table, user: User, address: Address) -> Iterator[Update]:
    page = table.query(Query.under(address_partition(user.tenant, address), AddressChat.PREFIX))
    chats = [chat.chat_id for chat in AddressChat.each_of(page.items)]
    return _detached_in(table, user, {address}, chats)


def _detached_in(
    table: Table, user: User, addresses: Collection[Address], chats: Sequence[str]
) -> Iterator[Update]:
    person = MemberRef(kind="user", id=user.id)
    keys = [Membership.key_of(user.tenant, chat, person) for chat in chats]
    for start in range(0, len(keys), MAX_BATCH_GET_KEYS):
        found = table.get_many(keys[start : start + MAX_BATCH_GET_KEYS])
        for membership in Membership.read_each(found):
            if membership.route is not None and membership.route.person in addresses:
                as_read = Is("route", membership.route.model_dump(mode="json"))
                yield Update(membership.key, set={"route": None}, condition=as_read)


def _write_each(table: Table, updates: Iterable[Update]) -> None:
    for update in updates:
        with suppress(ConditionFailed):  # the membership has a different address by now
            table.write(update)
