"""A number that is somebody's no more: nothing that is said to them goes there any longer."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from skein.errors import ConditionFailed
from skein.models.base import MemberRef
from skein.models.chat import Membership, member_relation, related_chat
from skein.models.storage import Is, Update
from skein.models.user import PhoneChat, User, phone_partition
from skein.ports import Table
from skein.services.cursors import pages_of_relation


def silenced(table: Table, user: User, phone: str) -> list[Update]:
    """What stops texts to `phone` in the chats that it leads to, one with each line."""
    page = table.query(phone_partition(user.tenant, phone), first="LINE#", last="LINE#~")
    chats = [PhoneChat.from_item(item).chat_id for item in page.items]
    return list(_silenced_in(table, user, phone, chats))


def silence_elsewhere(table: Table, user: User, phone: str) -> None:
    """Stop texts to `phone` in chats to which it no longer leads; doing it again is safe."""
    person = MemberRef(kind="user", id=user.id)
    relation = member_relation(user.tenant, person)
    for rows in pages_of_relation(table, relation, newest_first=True):
        chats = [related_chat(row) for row in rows]
        for write in _silenced_in(table, user, phone, chats):
            with suppress(ConditionFailed):  # they have written from elsewhere meanwhile
                table.write(write)


def _silenced_in(table: Table, user: User, phone: str, chats: Iterable[str]) -> Iterator[Update]:
    person = MemberRef(kind="user", id=user.id)
    keys = [Membership.key_of(user.tenant, chat, person) for chat in chats]
    found = table.get_many(keys) if keys else {}
    for place in map(Membership.from_item, found.values()):
        if place.sms is not None and place.sms.phone == phone:
            as_read = Is("sms", place.sms.model_dump(mode="json"))
            yield Update(place.key, set={"sms": None}, condition=as_read)
