"""Create a chat with all its members, once per `client_id` of its creator."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from skein.errors import ConditionFailed, Conflict, Unprocessable
from skein.models.api.base import NewChat
from skein.models.base import MemberRef, NamedMember
from skein.models.chat import MAX_AGENTS, MAX_MEMBERS, Chat, Membership
from skein.models.dedupe import OpeningMark
from skein.models.overrides import TenantSettings
from skein.models.ownership import effect_id
from skein.models.storage import MAX_TRANSACTION_ITEMS, Missing, Put, Write
from skein.ports import Table
from skein.services.config.retention import retention_of
from skein.services.directory.display_names import NoSuchAgent, named_members

DIRECT_MEMBERS = 2


class Opened(NamedTuple):
    """A chat, and whether this call created it."""

    chat: Chat
    created: bool


def members_of(by: NamedMember, new: NewChat) -> tuple[MemberRef, ...]:
    """Return the members of a new chat, its creator first.

    Raises:
        Unprocessable: There are too many members, or a direct chat does not have exactly two.
    """
    refs = tuple(dict.fromkeys([by.ref, *(member.ref for member in new.members)]))
    if new.kind == "direct" and len(refs) != DIRECT_MEMBERS:
        raise Unprocessable("a direct chat has exactly two members, the caller among them")
    if len(refs) > MAX_MEMBERS:
        raise Unprocessable(f"a chat has at most {MAX_MEMBERS} members")
    if sum(member.kind == "agent" for member in refs) > MAX_AGENTS:
        raise Unprocessable(f"a chat has at most {MAX_AGENTS} agents")
    return refs


class Earlier(NamedTuple):
    """The chat that a person created under a `client_id` before, if any.

    Attributes:
        chat: The chat; None if it does not exist yet.
        chat_id: The chat's id; None if no id is reserved. An id can be reserved before the chat
            exists: a large chat takes two transactions, and a worker can die between them.
    """

    chat: Chat | None
    chat_id: str | None


def opened_before(table: Table, tenant: str, by: MemberRef, client_id: str) -> Earlier:
    """Find the chat that a person created under a `client_id`.

    Raises:
        Conflict: The person has left that chat since.
    """
    mark_key = OpeningMark.key_of(tenant, by.id, client_id)
    former_key = Chat.key_of(tenant, _former_chat_id(by.id, client_id))
    found = table.get_many([mark_key, former_key])
    item, chat_id = found.get(former_key), None
    if mark_key in found:
        chat_id = OpeningMark.from_item(found[mark_key]).chat_id
        item = table.get(Chat.key_of(tenant, chat_id))
    if item is None:
        return Earlier(None, chat_id)
    chat = Chat.from_item(item)
    if all(member.ref != by for member in chat.roster):
        raise Conflict("a chat was opened under this client_id before, and the caller has left it")
    return Earlier(chat, chat.id)


def _former_chat_id(creator_id: str, client_id: str) -> str:
    """Return the chat id of older versions, which derived the id from the `client_id`.

    Those chats have no `OpeningMark`.
    """
    return f"chat_{effect_id('chat', creator_id, client_id)}"


def open_chat(
    table: Table,
    tenant: str,
    chat_id: str,
    *,
    by: NamedMember,
    new: NewChat,
    refs: Sequence[MemberRef],
    mark: OpeningMark | None,
    admit: Callable[[], None],
    now: datetime,
) -> Chat:
    """Create a chat with its members.

    Args:
        table: The table.
        tenant: The chat's tenant.
        chat_id: A unique id for the chat.
        by: The person who creates the chat.
        new: The request.
        refs: All members; see `members_of`.
        mark: The idempotency record of the `client_id`; None if there is no `client_id`, or if the
            record exists already.
        admit: Charges the rate limit; called after all members were found.
        now: The current time.

    Raises:
        Unprocessable: An agent does not exist.
        NotFound: One of the people does not exist.
        Conflict: One of the people is being erased.
        ConditionFailed: Another call created the chat, its idempotency record or the creator's user
            record.
    """
    try:
        roster = named_members(table, tenant, refs, caller=by, now=now)
    except NoSuchAgent as error:
        raise Unprocessable(error.message, details=error.details) from error
    admit()
    said = TenantSettings.found_in(table.get(TenantSettings.key_of(tenant)))
    group = new.kind == "group"
    chat = Chat(
        tenant=tenant,
        id=chat_id,
        title=new.title,
        kind=new.kind,
        visibility=new.visibility or ("open" if group else "private"),
        respond=new.respond,
        consolidate=group if new.consolidate is None else new.consolidate,
        roster=roster,
        activity_hour=now.replace(minute=0, second=0, microsecond=0),
        retention=retention_of(said),
        created_at=now,
    )
    places = [Membership(tenant=tenant, chat_id=chat_id, member=member) for member in roster]
    writes: list[Write] = [Put(mark.key, mark.to_item(), Missing())] if mark else []
    writes.extend(Put(place.key, place.to_item(chat), Missing()) for place in places)
    writes.append(Put(chat.key, chat.to_item(), Missing()))
    # A full chat with its members and its mark exceeds one transaction by two items. The first
    # transaction writes the mark and the creator's membership, which are invisible until the chat's
    # item exists. Without a mark to write, the membership may exist already, left by a worker that
    # died. The second transaction decides which call creates the chat.
    early = max(len(writes) - MAX_TRANSACTION_ITEMS, 0)
    if early:
        try:
            table.transact(writes[:early])
        except ConditionFailed:
            if mark is not None:  # another call has just written the mark
                raise
    table.transact(writes[early:])
    return chat
