"""Build the writes that create a direct chat between a person's address and a line."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.address import Address, Route
from skein.models.common.base import NamedMember
from skein.models.common.storage import Exists, Is, Missing, Put, Update, Write
from skein.models.config.overrides import Retention
from skein.models.directory.address_index import AddressChat
from skein.models.directory.line import Line


def new_line_chat(
    line: Line,
    address: Address,
    chat_id: str,
    members: Sequence[NamedMember],
    *,
    former: AddressChat | None,
    former_membership: Membership | None,
    retention: Retention | None,
    now: datetime,
    route: Route | None = None,
    introduction: str | None = None,
) -> list[Write]:
    """Return the writes of a new direct chat of a line.

    The writes fail if the two addresses already have a chat other than `former`.

    Args:
        address: The person's address.
        chat_id: A unique id for the chat.
        members: The person and the line's agent.
        former: The former chat of the two addresses, which the new chat replaces.
        former_membership: The person's membership in the former chat. Its opt-outs also apply to
            the new chat, because the carrier blocks the pair of numbers for every agent.
        retention: The tenant's retention.
        route: The route to the person; None if the person has written first.
        introduction: The introduction before the agent's first text; None if the person has written
            first.
    """
    chat = Chat(
        tenant=line.tenant,
        id=chat_id,
        line=line.address,
        kind="direct",
        visibility="private",
        roster=tuple(members),
        activity_hour=now.replace(minute=0, second=0, microsecond=0),
        retention=retention,
        created_at=now,
    )
    pointer = AddressChat(
        tenant=line.tenant,
        address=address,
        line=line.address,
        agent_id=next(member.id for member in members if member.kind == "agent"),
        chat_id=chat_id,
    )
    unmoved = Is("chat_id", former.chat_id) if former is not None else Missing()
    return [
        *_superseded(former_membership),
        *_memberships_of(chat, former_membership, route, introduction),
        Put(chat.key, chat.to_item(), Missing()),
        Put(pointer.key, pointer.to_item(), unmoved),
    ]


def _superseded(former: Membership | None) -> Iterator[Write]:
    if former is not None and former.active and not former.superseded:
        yield Update(former.key, set={"superseded": True}, condition=Exists())


def _memberships_of(
    chat: Chat, former: Membership | None, route: Route | None, introduction: str | None
) -> Iterator[Write]:
    for member in chat.roster:
        membership = Membership(tenant=chat.tenant, chat_id=chat.id, member=member)
        if member.kind == "user":
            before = former or membership
            membership = membership.model_copy(
                update={
                    "opt_outs": before.opt_outs,
                    "heard": before.heard,
                    "route": route,
                    "introduction": introduction,
                }
            )
        yield Put(membership.key, membership.to_item(chat), Missing())
