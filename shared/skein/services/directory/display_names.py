"""Read the names of members from their own records, and update the copies in rosters.

A member's own record holds the name. Each chat's roster holds a copy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.errors import Conflict, NotFound
from skein.models.agent import Agent
from skein.models.base import MemberRef, NamedMember
from skein.models.chat import Chat, member_relation, related_chat
from skein.models.jobs import UpkeepJob
from skein.models.storage import Item, Key, Missing, Put
from skein.models.user import User
from skein.ports import Table
from skein.services.common.pagination import rows_after
from skein.services.outbox.dispatch import Dispatch

MAX_CHATS = 100  # that hear of a new name at once
SEEN_AFTER_SECONDS = 30  # longer than a call of the API may take


class NoSuchAgent(NotFound):
    """One of the agents does not exist."""


def named_members(
    table: Table, tenant: str, members: Sequence[MemberRef], *, caller: NamedMember, now: datetime
) -> tuple[NamedMember, ...]:
    """The members with their names, in the order given: one batch of reads.

    The caller gets a record, with the name that the sign-in knows, if they have none. Everybody
    else must exist.

    Args:
        table: Where the records live.
        tenant: Whose members.
        members: Up to 100 of them.
        caller: The person who is signed in.
        now: The present, for the records of new people.

    Raises:
        NoSuchAgent: There is no such agent; `details` has the ids.
        NotFound: There is no such person; `details` has the ids.
        Conflict: One of the people is being erased.
        ConditionFailed: The caller's record was made meanwhile; try again.
    """
    keys = {member: _record_key(tenant, member) for member in members}
    found = table.get_many(list(keys.values())) if keys else {}
    unknown = [
        member.id
        for member in members
        if member.kind == "agent"
        and (keys[member] not in found or Agent.from_item(found[keys[member]]).deleted_at)
    ]
    if unknown:
        raise NoSuchAgent("there is no such agent", details={"agent_ids": unknown})
    strangers = [
        member.id
        for member in members
        if member.kind == "user" and member.id != caller.id and keys[member] not in found
    ]
    if strangers:
        raise NotFound("there is no such person", details={"user_ids": strangers})
    named: list[NamedMember] = []
    for member in members:
        item = found.get(keys[member])
        if member.kind == "agent":
            named.append(Agent.from_item(found[keys[member]]).as_member)
        elif item is not None:
            if User.from_item(item).erasure_id is not None:
                raise Conflict("this person is being erased", details={"user_id": member.id})
            named.append(User.from_item(item).as_member)
        else:
            user = User(tenant=tenant, id=caller.id, name=caller.name, created_at=now)
            table.write(Put(user.key, user.to_item(), Missing()))
            named.append(user.as_member)
    return tuple(named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """Has new names of people and agents copied into the rosters of their chats."""

    table: Table
    dispatch: Dispatch

    def announce(self, tenant: str, member: MemberRef) -> None:
        """Have the newest chats of a member looked through, once the change is surely made.

        It is called before that: whoever dies in between leaves nothing undone, and where the
        change is not made after all, nothing is found to do. All other chats, an agent's private
        ones among them, follow when something is said there.
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
    """Where the records of those who are in a chat stand."""
    return [_record_key(chat.tenant, member) for member in chat.roster]


def as_called_now(chat: Chat, member: NamedMember, found: Mapping[Key, Item]) -> NamedMember:
    """A member under the name in their record; as before where there is none.

    Args:
        chat: Where they are.
        member: As they are called there.
        found: What was read of `record_keys`.
    """
    item = found.get(_record_key(chat.tenant, member))
    if item is None:
        return member
    if member.kind == "agent":
        return Agent.from_item(item).as_member
    user = User.from_item(item)
    return member if user.erasure_id is not None else user.as_member


def _record_key(tenant: str, member: MemberRef) -> Key:
    owner = Agent if member.kind == "agent" else User
    return owner.key_of(tenant, member.id)
