"""How a chat comes into being: at once with all its members, once for each id of its creator."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from skein.errors import ConditionFailed, Conflict, NotFound, Unprocessable
from skein.models.api import NewChat
from skein.models.base import MemberRef, NamedMember
from skein.models.chat import MAX_AGENTS, MAX_MEMBERS, Chat, Membership
from skein.models.intent import effect_id
from skein.models.overrides import TenantSettings
from skein.models.storage import MAX_TRANSACTION_ITEMS, Missing, Put, Write
from skein.ports import Table
from skein.services.naming import named_members
from skein.services.retention import retention_of

DIRECT_MEMBERS = 2


class Opened(NamedTuple):
    """A chat; `created` is False when it had been opened before."""

    chat: Chat
    created: bool


def members_of(by: NamedMember, new: NewChat) -> tuple[MemberRef, ...]:
    """Everybody in a new chat, its creator first.

    Raises:
        Unprocessable: They are too many, or a direct chat has not exactly two.
    """
    refs = tuple(dict.fromkeys([by.ref, *(member.ref for member in new.members)]))
    if new.kind == "direct" and len(refs) != DIRECT_MEMBERS:
        raise Unprocessable("a direct chat has exactly two members, the caller among them")
    if len(refs) > MAX_MEMBERS:
        raise Unprocessable(f"a chat has at most {MAX_MEMBERS} members")
    if sum(member.kind == "agent" for member in refs) > MAX_AGENTS:
        raise Unprocessable(f"a chat has at most {MAX_AGENTS} agents")
    return refs


def chat_id_of(creator_id: str, client_id: str) -> str:
    """The id of the chat that a person opens under an id of their own: always the same."""
    return f"chat_{effect_id('chat', creator_id, client_id)}"


def opened_before(table: Table, tenant: str, chat_id: str, by: MemberRef) -> Chat | None:
    """The chat of this id, if its creator has opened it already.

    Raises:
        Conflict: They have left it since.
    """
    item = table.get(Chat.key_of(tenant, chat_id))
    if item is None:
        return None
    chat = Chat.from_item(item)
    if all(member.ref != by for member in chat.roster):
        raise Conflict("a chat was opened under this client_id before, and the caller has left it")
    return chat


def open_chat(
    table: Table,
    tenant: str,
    chat_id: str,
    *,
    by: NamedMember,
    new: NewChat,
    refs: Sequence[MemberRef],
    now: datetime,
) -> Chat:
    """Open a chat.

    Args:
        table: Where it is kept.
        tenant: Whose.
        chat_id: Its id, which no other chat has.
        by: Who opens it.
        new: What they ask for.
        refs: Everybody in it; see `members_of`.
        now: The present.

    Raises:
        Unprocessable: An agent does not exist.
        Conflict: One of the people is being erased.
        ConditionFailed: It is there already, or somebody made a member's record meanwhile.
    """
    try:
        roster = named_members(table, tenant, refs, caller=by, now=now)
    except NotFound as error:
        raise Unprocessable(error.message, details=error.details) from error
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
    writes: list[Write] = [Put(place.key, place.to_item(chat), Missing()) for place in places]
    writes.append(Put(chat.key, chat.to_item(), Missing()))
    # A full chat and its members are one item too many for one transaction. What comes first, the
    # creator's place, shows nowhere until the chat's own item is there. It may be there already,
    # left by a worker that died; whether the chat is opened is for the second one to say.
    early = max(len(writes) - MAX_TRANSACTION_ITEMS, 0)
    if early:
        with suppress(ConditionFailed):
            table.transact(writes[:early])
    table.transact(writes[early:])
    return chat
