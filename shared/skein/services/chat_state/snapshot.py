"""A chat and who is in it, read together."""

from collections.abc import Mapping
from typing import NamedTuple

from skein.errors import NotFound
from skein.models.base import MemberRef
from skein.models.chat import Chat, Membership, chat_partition
from skein.models.storage import META, Item, Key
from skein.ports import Table


class ChatSnapshot(NamedTuple):
    """A chat and its active memberships; closed ones only where they were asked for.

    Closed memberships of older versions, which lie among the active ones, may be there, too.
    """

    chat: Chat
    members: tuple[Membership, ...]

    def member(self, ref: MemberRef) -> Membership | None:
        """The active membership of `ref`, if there is one."""
        for membership in self.members:
            if membership.active and membership.member.ref == ref:
                return membership
        return None

    def seen_by(self, ref: MemberRef) -> "ChatSnapshot":
        """This room, as it is to a member.

        Raises:
            NotFound: `ref` is none; to them there is no such chat.
        """
        if self.member(ref) is None:
            raise NotFound("there is no such chat")
        return self

    @property
    def agents(self) -> list[Membership]:
        """The active memberships of agents."""
        return [m for m in self.members if m.active and m.member.kind == "agent"]


def read_snapshot(table: Table, tenant: str, chat_id: str, *, closed: bool = False) -> ChatSnapshot:
    """Read a chat and its members in one query, whatever the chat's length.

    Args:
        table: Where.
        tenant: Whose chat.
        chat_id: Which chat.
        closed: Read the closed memberships, too; the query then grows with those who have left.

    Raises:
        NotFound: There is no such chat in this tenant.
    """
    first = Membership.LEFT_PREFIX if closed else Membership.PREFIX
    page = table.query(chat_partition(tenant, chat_id), first=first, last=META)
    if not page.items or page.items[-1]["sk"] != META:
        raise NotFound("there is no such chat")
    *members, chat = page.items
    return ChatSnapshot(Chat.from_item(chat), tuple(Membership.from_item(item) for item in members))


def keys_of_snapshot(chat: Chat | None, member: Membership | None) -> list[Key]:
    """What a direct chat lacks of a room where its agent's place is known; a group is read whole.

    Args:
        chat: As it was read.
        member: The agent's place there.
    """
    if chat is None or member is None or chat.kind != "direct":
        return []
    refs = (one.ref for one in chat.roster if one.ref != member.member.ref)
    return [Membership.key_of(chat.tenant, chat.id, ref) for ref in refs]


def found_snapshot(
    chat: Chat | None, member: Membership | None, found: Mapping[Key, Item]
) -> ChatSnapshot | None:
    """Return a direct chat's snapshot from items found by `keys_of_snapshot`, or None."""
    keys = keys_of_snapshot(chat, member)
    if chat is None or member is None or not keys or any(key not in found for key in keys):
        return None
    return ChatSnapshot(chat, (member, *(Membership.from_item(found[key]) for key in keys)))
