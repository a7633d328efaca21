"""Estimate when a person was last active, from memberships and messages, without extra writes.

A membership's `seen_seq` rises when the person posts or marks messages as read. So the person was
active at or after the time when the message with this seq was created.
"""

from datetime import datetime

from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership, member_relation, related_chat
from skein.models.common.base import MemberRef
from skein.models.common.storage import Key, Query
from skein.ports import Table

NEWEST_CHATS = 50


def last_activity(table: Table, tenant: str, user_id: str) -> datetime | None:
    """Return a lower bound for the time at which a person last posted or read a message.

    The function looks at the person's 50 newest chats, in three reads.

    Returns:
        The time; None if the person has no chats or has seen no message, or if the messages that
        the person has seen have expired.
    """
    relation = member_relation(tenant, MemberRef(kind="user", id=user_id))
    page = table.query(Query(relation, index="gsi1", limit=NEWEST_CHATS, newest_first=True))
    memberships = {
        Chat.key_of(tenant, related_chat(row)): Key(row["pk"], row["sk"]) for row in page.items
    }
    found = table.get_many([*memberships, *memberships.values()]) if memberships else {}
    times: list[datetime] = []
    seen: list[Key] = []
    for chat_key, membership_key in memberships.items():
        if chat_key not in found or membership_key not in found:
            continue
        chat, membership = (
            Chat.must_read(found, chat_key),
            Membership.must_read(found, membership_key),
        )
        if chat.last_message is not None and membership.seen_seq >= chat.last_seq:
            times.append(chat.last_message.created_at)
        elif membership.seen_seq:
            seen.append(Message.key_of(tenant, chat.id, membership.seen_seq))
    messages = table.get_many(seen).values() if seen else ()
    times += [message.created_at for message in Message.each_of(messages)]
    return max(times, default=None)
