"""How members are called: by the names in the agents' and users' own records."""

from collections.abc import Sequence
from datetime import datetime

from skein.errors import Conflict, NotFound
from skein.models.agent import Agent
from skein.models.base import MemberRef, NamedMember
from skein.models.storage import Key, Missing, Put
from skein.models.user import User
from skein.ports import Table


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
    keys = {member: _key(tenant, member) for member in members}
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


def _key(tenant: str, member: MemberRef) -> Key:
    owner = Agent if member.kind == "agent" else User
    return owner.key_of(tenant, member.id)
