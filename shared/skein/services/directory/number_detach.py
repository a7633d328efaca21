"""Detach phone numbers: stop SMS to numbers that a user has lost.

A membership holds the number to which its user's SMS go (`sms`). Each delivery also checks that the
user still has the number, so a membership that is cleared late sends no SMS there.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from skein.errors import ConditionFailed
from skein.models.chats.chat import Membership, member_relation, related_chat
from skein.models.common.base import MemberRef
from skein.models.common.storage import (
    MAX_BATCH_GET_KEYS,
    MAX_TRANSACTION_ITEMS,
    Is,
    Query,
    Update,
    Write,
)
from skein.models.directory.phone import PhoneChat, phone_partition
from skein.models.directory.user import User
from skein.ports import Table
from skein.services.common.pagination import pages_of_relation


def detach_numbers(
    table: Table, user: User, phones: Collection[str], writes: Sequence[Write]
) -> None:
    """Commit `writes`, which detach numbers from a user, and clear the numbers' memberships.

    The transaction clears as many memberships as fit. The others follow one by one. After a crash
    in between, `detach_elsewhere` clears the rest.

    Args:
        user: The user with the numbers, as read.
        phones: The numbers to detach.
        writes: At most 100 writes.

    Raises:
        ConditionFailed: An item has changed since it was read; nothing was written.
    """
    updates = [update for phone in phones for update in _detached(table, user, phone)]
    fitting = MAX_TRANSACTION_ITEMS - len(writes)
    table.transact([*writes, *updates[:fitting]])
    _write_each(table, updates[fitting:])


def detach_elsewhere(table: Table, user: User, phones: Collection[str]) -> None:
    """Clear numbers from all memberships of a user (idempotent)."""
    if not phones:
        return
    person = MemberRef(kind="user", id=user.id)
    relation = member_relation(user.tenant, person)
    for rows in pages_of_relation(table, relation, newest_first=True):
        chats = [related_chat(row) for row in rows]
        _write_each(table, _detached_in(table, user, phones, chats))


def _detached(table: Table, user: User, phone: str) -> Iterator[Update]:
    """Return the updates that clear `phone` from its chats, one per line."""
    page = table.query(Query.under(phone_partition(user.tenant, phone), PhoneChat.PREFIX))
    chats = [PhoneChat.from_item(item).chat_id for item in page.items]
    return _detached_in(table, user, {phone}, chats)


def _detached_in(
    table: Table, user: User, phones: Collection[str], chats: Sequence[str]
) -> Iterator[Update]:
    person = MemberRef(kind="user", id=user.id)
    keys = [Membership.key_of(user.tenant, chat, person) for chat in chats]
    for start in range(0, len(keys), MAX_BATCH_GET_KEYS):
        found = table.get_many(keys[start : start + MAX_BATCH_GET_KEYS])
        for membership in map(Membership.from_item, found.values()):
            if membership.sms is not None and membership.sms.phone in phones:
                as_read = Is("sms", membership.sms.model_dump(mode="json"))
                yield Update(membership.key, set={"sms": None}, condition=as_read)


def _write_each(table: Table, updates: Iterable[Update]) -> None:
    for update in updates:
        with suppress(ConditionFailed):  # the membership has another number meanwhile
            table.write(update)
