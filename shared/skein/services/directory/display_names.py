"""Display names: read members' names from their records, and update the copies in rosters.

The name is stored in the member's own record. The roster of each chat contains a copy.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from skein.errors import Conflict, Forbidden, NotFound
from skein.models.chats.chat import Chat
from skein.models.chats.membership import member_relation, related_chat
from skein.models.common.base import MemberRef, NamedMember, is_visitor
from skein.models.common.storage import Item, Key, Missing, Put
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.outbox.jobs import UpkeepJob
from skein.ports import Table
from skein.services.common.pagination import pages_of_relation, rows_after
from skein.services.directory.name_index import indexed
from skein.services.outbox.dispatch import Dispatch

MAX_CHATS = 100  # chats whose rosters are updated soon after a new name
SEARCHED_PAGES = 5  # of 100 chats each; people who share none of these chats count as strangers
SEEN_AFTER_SECONDS = 30  # longer than an API request may take


class NoSuchAgent(NotFound):
    """One of the agents does not exist or was deleted."""


def named_members(
    table: Table,
    tenant: str,
    members: Sequence[MemberRef],
    *,
    caller: NamedMember,
    operator: bool,
    now: datetime,
) -> tuple[NamedMember, ...]:
    """Read the names of people and agents that are added to a chat, in the given order.

    If the signed-in person is among the members and has no record, this function creates the record
    with the name from the sign-in. All other members must exist. A visitor counts as a person who
    does not exist, because the only chat of a visitor is the private direct chat that the visit
    opens.

    Args:
        members: Up to 100 members.
        caller: The signed-in person.
        operator: Whether the person is also an operator, who may add every agent.
        now: The current time, for a new record.

    Raises:
        NoSuchAgent: An agent does not exist or was deleted; `details` has the ids.
        Forbidden: Only operators may add one of the agents; `details` has the ids.
        NotFound: A person does not exist; `details` has the ids.
        Conflict: One of the people is being erased.
        ConditionFailed: Another request has just created the signed-in person's record; try again.
    """
    keys = {member: _record_key(tenant, member) for member in members}
    found = table.get_many(list(keys.values())) if keys else {}
    unknown = [
        member.id
        for member in members
        if member.kind == "agent"
        and (keys[member] not in found or Agent.must_read(found, keys[member]).deleted_at)
    ]
    if unknown:
        raise NoSuchAgent("agent not found", details={"agent_ids": unknown})
    closed = [
        member.id
        for member in members
        if member.kind == "agent" and Agent.must_read(found, keys[member]).operators_add
    ]
    if closed and not operator:
        raise Forbidden("only operators can add this agent", details={"agent_ids": closed})
    unknown = [
        member.id
        for member in members
        if member.kind == "user"
        and (is_visitor(member.id) or (member.id != caller.id and keys[member] not in found))
    ]
    if unknown:
        raise NotFound("user not found", details={"user_ids": unknown})
    named: list[NamedMember] = []
    for member in members:
        if member.kind == "agent":
            named.append(Agent.must_read(found, keys[member]).as_member)
        elif (known := User.read(found, keys[member])) is not None:
            if known.erasure_id is not None:
                raise Conflict("this user is being erased", details={"user_id": member.id})
            named.append(known.as_member)
        else:
            user = User.unknown(tenant, caller, now)
            table.transact([Put(user.key, user.to_item(), Missing()), *indexed(user)])
            named.append(user.as_member)
    return tuple(named)


def strangers_among(
    table: Table, tenant: str, person: NamedMember, members: Sequence[NamedMember]
) -> list[NamedMember]:
    """Return the people among `members` who share no chat with a person, in the given order."""
    others = {each.ref for each in members if each.kind == "user" and each.id != person.id}
    strangers = others - people_in_shared_chats(table, tenant, person.ref, others)
    return [member for member in members if member.ref in strangers]


def people_in_shared_chats(
    table: Table, tenant: str, person: MemberRef, wanted: Set[MemberRef]
) -> Set[MemberRef]:
    """Return the people in `wanted` who are members of one of a person's newest 500 chats.

    Discarded chats do not count. If no one in `wanted` is found, the number of reads depends only
    on how many chats the person has.

    Args:
        person: The person whose chats to search.
        wanted: The people to look for.
    """
    met: set[MemberRef] = set()
    if not wanted:
        return met
    rows = pages_of_relation(table, member_relation(tenant, person), newest_first=True)
    for page in islice(rows, SEARCHED_PAGES):
        keys = [Chat.key_of(tenant, related_chat(row)) for row in page]
        for chat in Chat.each_of(table.get_many(keys).values() if keys else ()):
            members = {member.ref for member in chat.roster}
            if person in members and chat.discarded_at is None:
                met |= wanted & members
        if met == wanted:
            break
    return met


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """Sends the jobs that copy a member's new name into the rosters of the member's chats."""

    table: Table
    dispatch: Dispatch

    def announce(self, tenant: str, member: MemberRef) -> None:
        """Send upkeep jobs, delayed by 30 seconds, for a member's newest 100 chats.

        Call this before the new name is stored, so that a crash cannot lose the update. If the name
        is not stored, the jobs have no effect. All other chats, including an agent's private chats,
        are updated when their next message is posted.
        """
        rows = rows_after(
            self.table,
            member_relation(tenant, member),
            None,
            limit=MAX_CHATS,
            newest_first=True,
        )
        jobs = [UpkeepJob(tenant=tenant, chat_id=related_chat(row)) for row in rows]
        self.dispatch.send(jobs, delay_seconds=SEEN_AFTER_SECONDS)


def record_keys(chat: Chat) -> list[Key]:
    return [_record_key(chat.tenant, member) for member in chat.roster]


def as_called_now(chat: Chat, member: NamedMember, found: Mapping[Key, Item]) -> NamedMember:
    """Return a member with the name from the member's record.

    A member without a record is returned unchanged, and so is a user who is being erased.

    Args:
        chat: The member's chat.
        member: The member as in the chat's roster.
        found: The items that were read under `record_keys`.
    """
    key = _record_key(chat.tenant, member)
    if member.kind == "agent":
        agent = Agent.read(found, key)
        return agent.as_member if agent is not None else member
    user = User.read(found, key)
    return member if user is None or user.erasure_id is not None else user.as_member


def _record_key(tenant: str, member: MemberRef) -> Key:
    owner = Agent if member.kind == "agent" else User
    return owner.key_of(tenant, member.id)
