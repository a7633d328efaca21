"""Invite people to a chat, and end invitations.

A person is invited instead of added if they share no chat with the person who adds them. The chat
lists the invited people, and each invited person's `PersonChoices` has an open choice. One
transaction changes the chat and the choices. A person becomes a member only by accepting.

The open choice stays listed as due until the person has been asked by SMS
(`services/choices/invitation_texts.py`).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.errors import Conflict, NotFound
from skein.models.chats.chat import Chat
from skein.models.chats.choice import INVITATION, Invited
from skein.models.chats.person_choices import OpenChoice, PersonChoices
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.storage import Write
from skein.models.directory.user import User
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import (
    found_choices,
    invitation_to,
    read_choices,
    stored_choices,
    with_asked,
    with_ended,
    without_chat,
)
from skein.services.chat_state.snapshot import read_chat, read_snapshot
from skein.services.chats.joining import joined
from skein.services.common.optimistic import optimistic, revise
from skein.services.outbox.dispatch import OUTBOX_GRACE


class NewInvitations(NamedTuple):
    """New invitations to a chat, not yet stored.

    Attributes:
        invited: The entries for the chat's `invited`.
        writes: The writes that add an open choice to each person's choices.
    """

    invited: tuple[Invited, ...]
    writes: list[Write]


def invite(
    table: Table,
    tenant: str,
    chat_id: str,
    by: NamedMember,
    people: Sequence[NamedMember],
    *,
    hours: int,
    now: datetime,
) -> NewInvitations:
    """Build invitations to a chat; the caller stores them together with the chat.

    Args:
        by: The member who invites.
        people: Up to 100 people who have no open invitation to this chat.
        hours: The number of hours after which the invitations expire.

    Raises:
        RateLimited: One of the people already has three open invitations.
        ConditionFailed: Another writer has changed a chat or a person's choices; try again.
    """
    keys = [PersonChoices.key_of(tenant, person.id) for person in people]
    found = table.get_many(keys) if keys else {}
    expires_at = now + timedelta(hours=hours)
    invited, writes = [], list[Write]()
    for person in people:
        choices = found_choices(found, tenant, person.id, now)
        asked = OpenChoice(
            chat_id=chat_id,
            purpose=INVITATION,
            expires_at=expires_at,
            invited_to=chat_id,
            invited_by=by.id,
            ask_at=now + OUTBOX_GRACE,
        )
        choices = _without_lapsed(table, with_asked(choices, asked, now), chat_id)
        writes.append(stored_choices(choices))
        invited.append(Invited(member=person, by=by, at=now, expires_at=expires_at))
    return NewInvitations(tuple(invited), writes)


def withdrawn(chat: Chat, user_id: str) -> Write:
    """Return the write that removes a person's invitation from a chat."""
    return revise(chat, {"invited": chat.without_invitation(user_id)})[1]


def answered(
    table: Table, tenant: str, chat_id: str, user_id: str, *, accept: bool, now: datetime
) -> list[Write] | None:
    """Return the writes that store an invited person's answer in the chat.

    In the same transaction, the caller must also end the person's choice.

    Returns:
        The writes; None if the person accepts but is a member already.

    Raises:
        NotFound: The chat does not exist, or the person is not invited to it.
        Conflict: The invitation has expired, the chat is discarded, the person's data is being
            erased, or the person declines but is already a member.
    """
    snapshot = read_snapshot(table, tenant, chat_id, closed=True)
    chat, invitation = snapshot.chat, snapshot.chat.invitation(user_id)
    member = chat.has(MemberRef(kind="user", id=user_id))
    if invitation is None and not member:
        raise NotFound("chat not found")
    if chat.discarded_at is not None:
        raise Conflict("the chat is discarded")
    if member and accept:
        return None
    if invitation is None or not invitation.open(now):
        raise Conflict("the invitation has ended")
    if not accept:
        return [withdrawn(chat, user_id)]
    user = User.read(table, User.key_of(tenant, user_id))
    if user is None or user.erasure_id is not None:
        raise Conflict("this user is being erased")
    return joined(table, snapshot, user.as_member, now)[1]


def ended_choice(table: Table, tenant: str, chat_id: str, user_id: str, now: datetime) -> Write:
    """Return the write that ends a person's open choice about the invitation to a chat."""
    choices = read_choices(table, tenant, user_id, now)
    listed = invitation_to(choices, chat_id)
    choices = with_ended(choices, listed, now) if listed else without_chat(choices, chat_id)
    return stored_choices(choices)


def invitations_of(table: Table, tenant: str, user_id: str) -> list[tuple[Chat, Invited]]:
    """Return a person's invitations that chats still list, including expired invitations."""
    choices = PersonChoices.read(table, PersonChoices.key_of(tenant, user_id))
    ids = choices.invited_in if choices is not None else ()
    keys = [Chat.key_of(tenant, chat_id) for chat_id in ids]
    found = table.get_many(keys) if keys else {}
    chats = Chat.read_each(found, keys)
    return [(chat, invited) for chat in chats if (invited := chat.invitation(user_id)) is not None]


def end_invitation(table: Table, clock: Clock, tenant: str, chat_id: str, user_id: str) -> None:
    """End a person's invitation to a chat, if the person is still invited (idempotent)."""

    def attempt() -> None:
        chat = read_chat(table, tenant, chat_id)
        if chat.invitation(user_id) is not None:
            ended = ended_choice(table, tenant, chat_id, user_id, clock.now())
            table.transact([withdrawn(chat, user_id), ended])

    optimistic(clock, attempt, finds_own_write=True)


def _without_lapsed(table: Table, choices: PersonChoices, chat_id: str) -> PersonChoices:
    """Remove one of a person's expired invitations, so that expired invitations never pile up.

    One transaction removes the invitation from the chat and from the person's choices.

    Args:
        choices: The person's choices as of now.
        chat_id: The chat to which the person is invited now; an invitation to it is not removed.

    Raises:
        ConditionFailed: Another writer has changed the chat or the choices.
    """
    awaited = {choice.invited_to for choice in choices.open}
    lapsed = [each for each in choices.invited_in if each not in {*awaited, chat_id}]
    if not lapsed:
        return choices
    forgotten = without_chat(choices, lapsed[0])
    stored = stored_choices(forgotten)
    chat = Chat.read(table, Chat.key_of(choices.tenant, lapsed[0]))
    named = chat is not None and chat.invitation(choices.user_id) is not None
    table.transact([stored, *([withdrawn(chat, choices.user_id)] if chat and named else [])])
    return forgotten.model_copy(update={"version": forgotten.version + 1})
