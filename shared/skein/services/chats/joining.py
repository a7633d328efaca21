"""Join a chat: change its roster, and create a membership or reopen a closed one."""

from datetime import datetime

from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.storage import Item, Missing, Put, Write
from skein.ports import Table
from skein.services.chat_state.closed_memberships import membership_keys, opening
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.common.optimistic import revise


def joined(
    table: Table, snapshot: ChatSnapshot, member: NamedMember, now: datetime
) -> tuple[Chat, list[Write]]:
    """Return a chat with a new member, and the writes that store the change.

    Earlier messages count as seen. If the member was invited, the invitation is removed from the
    chat, and the caller must end the person's choice. If the member is an agent, the chat becomes
    due for upkeep, which requests other chats' summaries, because prompts in this chat will show
    them.

    Args:
        snapshot: The chat, read with its closed memberships.
    """
    chat = snapshot.chat
    left = [membership.member for membership in snapshot.members if not membership.active]
    change = chat.with_member(member, left)
    if any(each.member.ref == member.ref for each in chat.invited):
        change["invited"] = chat.without_invitation(member.id)
    if chat.last_seq:
        change["joined_late"] = chat.joined_late | {str(member.ref): chat.last_seq}
    if member.kind == "user" and chat.visibility == "private":
        change |= chat.without_made_title()
    also = None
    if member.kind == "agent":
        change |= {"listed_hour": None, "upkeep_at": now}
        also = chat.upkeep(now)
    revised, write = revise(chat, change, also=also)
    return revised, [write, *_opened(table, chat, member)]


def has_been_in(table: Table, chat: Chat, ref: MemberRef) -> bool:
    return _stored_membership(table, chat, ref) is not None


def has_left(snapshot: ChatSnapshot, member: NamedMember) -> bool:
    """Return whether a person was a member of a chat and is no longer a member.

    Args:
        snapshot: The chat, read with its closed memberships.
        member: The person; for an agent, the result is always False.
    """
    if member.kind == "agent" or snapshot.member(member.ref) is not None:
        return False
    return any(each.member.ref == member.ref for each in snapshot.members)


def _opened(table: Table, chat: Chat, member: NamedMember) -> list[Write]:
    """Return the writes that create a membership, or reopen the member's closed membership.

    A reopened membership keeps the attributes that a new membership would not set.
    """
    membership = Membership(
        tenant=chat.tenant,
        chat_id=chat.id,
        member=member,
        joined_seq=chat.last_seq,
        seen_seq=chat.last_seq,
    )
    earlier = _stored_membership(table, chat, member.ref)
    if earlier is None:
        return [Put(membership.key, membership.to_item(chat), Missing())]
    return opening(earlier, chat, membership.attributes() | {"route": None})


def _stored_membership(table: Table, chat: Chat, ref: MemberRef) -> Item | None:
    keys = membership_keys(chat.tenant, chat.id, ref)
    found = table.get_many(keys)
    return next((found[key] for key in keys if key in found), None)
