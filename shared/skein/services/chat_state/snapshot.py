"""Read a chat snapshot: a chat and its memberships, read together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from skein.errors import NotFound
from skein.models.chats.chat import Chat, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import META, Item, Key, Put, Query, Update, Write
from skein.models.directory.agent import Agent
from skein.ports import Table


class ChatSnapshot(NamedTuple):
    """A chat with its active memberships. Closed memberships are included on request.

    Attributes:
        opening: The writes that create the chat together with its first message; empty if the chat
            exists already.
    """

    chat: Chat
    members: tuple[Membership, ...]
    opening: tuple[Put, ...] = ()

    def member(self, ref: MemberRef) -> Membership | None:
        for membership in self.members:
            if membership.active and membership.member.ref == ref:
                return membership
        return None

    def for_member(self, ref: MemberRef) -> "ChatSnapshot":
        """Return this snapshot, if `ref` is a member of the chat.

        Raises:
            NotFound: `ref` is not a member, so the chat must look as if it did not exist.
        """
        if self.member(ref) is None:
            raise NotFound("chat not found")
        return self

    @property
    def opted_out(self) -> bool:
        """Whether the person of a direct chat has opted out of the channel that answers use.

        False if the person's last message came from the app, because answers then appear in the
        app.
        """
        people = [m for m in self.members if m.active and m.member.kind == "user"]
        return self.chat.kind == "direct" and bool(people) and all(m.opted_out for m in people)

    def replacing(self, changed: Membership) -> "ChatSnapshot":
        """Return this snapshot with `changed` in place of the member's active membership."""
        ref = changed.member.ref
        members = (changed if m.active and m.member.ref == ref else m for m in self.members)
        return self._replace(members=tuple(members))

    @property
    def agents(self) -> list[Membership]:
        return [m for m in self.members if m.active and m.member.kind == "agent"]


def read_chat(table: Table, tenant: str, chat_id: str) -> Chat:
    """Read a chat without its memberships.

    Raises:
        NotFound: The chat does not exist in this tenant.
    """
    chat = Chat.read(table, Chat.key_of(tenant, chat_id))
    if chat is None:
        raise NotFound("chat not found")
    return chat


def read_snapshot(table: Table, tenant: str, chat_id: str, *, closed: bool = False) -> ChatSnapshot:
    """Read a chat snapshot in one query, independent of the number of messages.

    Args:
        closed: Whether to read closed memberships too; the query then grows with each member who
            has left.

    Raises:
        NotFound: The chat does not exist in this tenant.
    """
    first = Membership.LEFT_PREFIX if closed else Membership.PREFIX
    page = table.query(Query(chat_partition(tenant, chat_id), first=first, last=META))
    if not page.items or page.items[-1]["sk"] != META:
        raise NotFound("chat not found")
    *members, chat = page.items
    return ChatSnapshot(Chat.from_item(chat), tuple(Membership.each_of(members)))


def read_or_opening(
    table: Table, tenant: str, chat_id: str, opening: ChatSnapshot | None
) -> ChatSnapshot:
    """Read a chat snapshot; return `opening` if the chat does not exist yet.

    Args:
        opening: The chat that the first message will create; None if a message may not create the
            chat.

    Raises:
        NotFound: The chat does not exist in this tenant, and `opening` is None.
    """
    try:
        return read_snapshot(table, tenant, chat_id)
    except NotFound:
        if opening is None or not opening.opening:
            raise
        return opening


def with_opening(writes: Sequence[Write], opening: Sequence[Put]) -> list[Write]:
    """Return the writes of a first message, together with the writes that create its chat.

    A transaction can't write an item twice, so a message's update of a new item is merged into the
    write that creates the item.
    """
    made = {put.key: put for put in opening}
    others: list[Write] = []
    for write in writes:
        put = made.get(write.key)
        if put is not None and isinstance(write, Update):
            made[write.key] = replace(put, item={**put.item, **write.set})
        else:
            others.append(write)
    return [*others, *made.values()]


def with_opt_outs_now(table: Table, snapshot: ChatSnapshot) -> ChatSnapshot:
    """Return the snapshot with the current opt-outs of the people who get answers on a phone.

    This costs one read for each of these people.
    """
    for person in snapshot.members:
        if person.active and person.member.kind == "user" and person.route is not None:
            membership = Membership.read(table, person.key)
            if membership is not None:
                snapshot = snapshot.replacing(membership)
    return snapshot


def keys_of_snapshot(chat: Chat | None, member: Membership | None) -> list[Key]:
    """Return the keys to read for a direct chat's snapshot, besides the chat and its agent.

    Args:
        chat: The chat as it was read.
        member: The agent's membership.

    Returns:
        The keys of the memberships, except the agent's. The list is empty for a group, because its
        snapshot is read by query. It is also empty if `chat` or `member` is None.
    """
    if chat is None or member is None or chat.kind != "direct":
        return []
    refs = (one.ref for one in chat.roster if one.ref != member.member.ref)
    return [Membership.key_of(chat.tenant, chat.id, ref) for ref in refs]


def found_snapshot(
    chat: Chat | None, member: Membership | None, found: Mapping[Key, Item]
) -> ChatSnapshot | None:
    """Build a direct chat's snapshot from the items found under `keys_of_snapshot`.

    Returns:
        The snapshot; None for a group, or if a membership was not found.
    """
    keys = keys_of_snapshot(chat, member)
    if chat is None or member is None or not keys or any(key not in found for key in keys):
        return None
    return ChatSnapshot(chat, (member, *(Membership.must_read(found, key) for key in keys)))


def read_agent(table: Table, tenant: str, agent_id: str) -> Agent | None:
    """Read an agent; return None if it was deleted or never existed."""
    agent = Agent.read(table, Agent.key_of(tenant, agent_id))
    return agent if agent and agent.deleted_at is None else None


def chat_of_agent(
    table: Table, tenant: str, agent_id: str, chat_id: str
) -> tuple[Chat, Membership]:
    """Read a chat that is not discarded, and an agent's active membership in it.

    Raises:
        NotFound: The chat does not exist or is discarded, or the agent is not a member.
    """
    chat_key = Chat.key_of(tenant, chat_id)
    member_key = Membership.key_of(tenant, chat_id, MemberRef(kind="agent", id=agent_id))
    found = table.get_many([chat_key, member_key])
    if chat_key not in found or member_key not in found:
        raise NotFound("chat not found for this agent")
    chat, member = Chat.must_read(found, chat_key), Membership.must_read(found, member_key)
    if not member.active or chat.discarded_at is not None:
        raise NotFound("chat not found for this agent")
    return chat, member
