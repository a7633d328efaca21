"""Create a chat: add its members, make its creator the owner, and invite strangers."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from skein.errors import ConditionFailed, Conflict, Unprocessable
from skein.models.api.chats import NewChat
from skein.models.chats.chat import MAX_AGENTS, MAX_MEMBERS, Chat
from skein.models.chats.idempotency import OpeningRecord
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.storage import MAX_TRANSACTION_ITEMS, Missing, Put, Write
from skein.models.config.overrides import TenantSettings
from skein.models.visibility.provenance import Authors
from skein.ports import Table
from skein.services.chats.invitations import invite
from skein.services.config.retention import retention_of
from skein.services.directory.display_names import NoSuchAgent, named_members, strangers_among
from skein.settings import Settings

DIRECT_MEMBERS = 2


class OpenedChat(NamedTuple):
    """A chat, and whether this call or an earlier call created it."""

    chat: Chat
    created: bool


class EarlierChat(NamedTuple):
    """The chat that a person created earlier with the same `client_id`, if any.

    Attributes:
        chat: The chat; None if the chat does not exist yet.
        chat_id: The id of the chat; None if no id is reserved. The id can be reserved before the
            chat exists, because a large chat is created in two transactions and a worker can crash
            between the two.
    """

    chat: Chat | None
    chat_id: str | None


def members_of(by: NamedMember, new: NewChat) -> tuple[MemberRef, ...]:
    """Return the members of a new chat without duplicates, its creator first.

    Raises:
        Unprocessable: There are too many members, or a direct chat does not have exactly two
            members.
    """
    refs = tuple(dict.fromkeys([by.ref, *(member.ref for member in new.members)]))
    if new.kind == "direct" and len(refs) != DIRECT_MEMBERS:
        raise Unprocessable("a direct chat must have exactly two members, including the caller")
    if len(refs) > MAX_MEMBERS:
        raise Unprocessable(f"a chat may have at most {MAX_MEMBERS} members")
    if sum(member.kind == "agent" for member in refs) > MAX_AGENTS:
        raise Unprocessable(f"a chat may have at most {MAX_AGENTS} agents")
    return refs


def opened_before(table: Table, tenant: str, by: MemberRef, client_id: str) -> EarlierChat:
    """Find the chat that a person created with a `client_id`.

    Raises:
        Conflict: The person has left the chat since.
    """
    opening_record = OpeningRecord.read(table, OpeningRecord.key_of(tenant, by.id, client_id))
    if opening_record is None:
        return EarlierChat(None, None)
    chat_id = opening_record.chat_id
    chat = Chat.read(table, Chat.key_of(tenant, chat_id))
    if chat is None:
        return EarlierChat(None, chat_id)
    if not chat.has(by):
        raise Conflict("this client_id belongs to a chat that the caller has left")
    return EarlierChat(chat, chat.id)


def open_chat(
    table: Table,
    tenant: str,
    chat_id: str,
    *,
    by: NamedMember,
    new: NewChat,
    refs: Sequence[MemberRef],
    operator: bool,
    record: OpeningRecord | None,
    admit: Callable[[], None],
    settings: Settings,
    now: datetime,
) -> Chat:
    """Create a chat with its members, and invite people who share no chat with its creator.

    Args:
        chat_id: A unique id for the chat.
        by: The person who creates the chat.
        refs: All members; see `members_of`.
        operator: Whether `by` is also an operator, who may add every agent.
        record: The idempotency record of the `client_id`; None if there is no `client_id`, or if
            the record exists already.
        admit: Charges the rate limit; called after all members were found.
        settings: The settings of the stack.

    Raises:
        Unprocessable: An agent does not exist.
        Forbidden: Only operators may add one of the agents.
        NotFound: One of the people does not exist.
        Conflict: One of the people is being erased.
        RateLimited: One of the people has three open invitations.
        ConditionFailed: Another call has just created the chat, its idempotency record or the
            creator's user record.
    """
    try:
        members = named_members(table, tenant, refs, caller=by, operator=operator, now=now)
    except NoSuchAgent as error:
        raise Unprocessable(error.message, details=error.details) from error
    strangers = strangers_among(table, tenant, by, members)
    roster = tuple(member for member in members if member not in strangers)
    tenant_settings = TenantSettings.from_optional(table.get(TenantSettings.key_of(tenant)))
    hours = settings.overridden(tenant_settings).choice_hours
    inviter = as_called(roster, by)
    invitations = invite(table, tenant, chat_id, inviter, strangers, hours=hours, now=now)
    admit()
    group = new.kind == "group"
    chat = Chat(
        tenant=tenant,
        id=chat_id,
        title=new.title,
        title_authors=authors_of(new.title, by.ref),
        kind=new.kind,
        visibility=new.visibility or ("open" if group else "private"),
        respond=new.respond,
        consolidate=new.consolidate,
        roster=roster,
        owners=(by.id,),
        invited=invitations.invited,
        activity_hour=now.replace(minute=0, second=0, microsecond=0),
        retention=retention_of(tenant_settings),
        upkeep_at=now,  # upkeep requests summaries of the agents' other chats for this chat
        created_at=now,
    )
    memberships = [Membership(tenant=tenant, chat_id=chat_id, member=member) for member in roster]
    writes: list[Write] = [Put(record.key, record.to_item(), Missing())] if record else []
    writes.extend(
        Put(membership.key, membership.to_item(chat), Missing()) for membership in memberships
    )
    writes.extend(invitations.writes)
    writes.append(Put(chat.key, chat.to_item() | chat.upkeep(now), Missing()))
    # A full chat with its members and its record exceeds one transaction by two items. The first
    # transaction writes the record and the creator's membership. Both stay invisible until the
    # second transaction writes the chat's item, which decides which call creates the chat. If the
    # record was written before, a worker that crashed may have written the membership as well.
    early = max(len(writes) - MAX_TRANSACTION_ITEMS, 0)
    if early:
        try:
            table.transact(writes[:early])
        except ConditionFailed:
            if record is not None:  # another call has just written the record
                raise
    table.transact(writes[early:])
    return chat


def as_called(roster: Sequence[NamedMember], by: NamedMember) -> NamedMember:
    """Return the signed-in person, with the name that the roster has for this person, if any."""
    return next((member for member in roster if member.ref == by.ref), by)


def authors_of(title: str | None, by: MemberRef) -> Authors:
    """Return the author of a title as a digest; no authors if `title` is None."""
    return Authors.in_digests([by.id] if title is not None else [])
