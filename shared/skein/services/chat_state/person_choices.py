"""Read and change a person's open choices: limits, counts of the day, and the conditional write.

Each transaction that asks or ends a choice also writes the person's one item `PersonChoices`, under
an optimistic lock. So the limits hold across all chats, and an answer counts once.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import ceil

from skein.errors import RateLimited
from skein.models.chats.chat import Chat
from skein.models.chats.choice import INVITATION
from skein.models.chats.person_choices import (
    MAX_CONSENTS_A_DAY,
    MAX_INVITATIONS,
    MAX_OPEN,
    MAX_OVER,
    MAX_REFUSALS_A_DAY,
    OpenChoice,
    PersonChoices,
)
from skein.models.common.base import MemberRef
from skein.models.common.storage import Item, Key, Put, at_version
from skein.ports import Table

CODE_KEPT = timedelta(days=1)  # after its choice is over, so that a late SMS is told so


def read_choices(table: Table, tenant: str, user_id: str, now: datetime) -> PersonChoices:
    """Read a person's choices as of `now`, without the expired ones."""
    item = table.get(PersonChoices.key_of(tenant, user_id))
    return current_choices(item, tenant, user_id, now)


def found_choices(
    found: Mapping[Key, Item], tenant: str, user_id: str, now: datetime
) -> PersonChoices:
    """Return a person's choices from items of a batch, without the expired ones."""
    return current_choices(found.get(PersonChoices.key_of(tenant, user_id)), tenant, user_id, now)


def current_choices(item: Item | None, tenant: str, user_id: str, now: datetime) -> PersonChoices:
    """Return a person's choices as of `now`: expired ones are over, and a new day counts from 0.

    Args:
        item: The stored item; None if the person was never asked.
    """
    stored = (
        PersonChoices.from_item(item)
        if item is not None
        else PersonChoices(tenant=tenant, user_id=user_id)
    )
    expired = [choice for choice in stored.open if choice.expires_at <= now]
    today = now.astimezone(UTC).date()
    fresh = {} if stored.day == today else {"day": today, "consents": 0, "refusals": {}}
    codes = [code for each in expired for code in each.over_codes(each.expires_at + CODE_KEPT)]
    over = [code for code in (*stored.over, *codes) if code.until > now]
    still_open = (choice for choice in stored.open if choice.expires_at > now)
    return stored.model_copy(
        update={"open": tuple(still_open), "over": tuple(over[-MAX_OVER:]), **fresh}
    )


def with_place_for(
    table: Table, choices: PersonChoices, asked: OpenChoice, now: datetime, *, consent: bool = False
) -> PersonChoices:
    """Return the choices to which one more can be added.

    If there is no place, questions in chats that the person has left, or that are discarded, are
    over: nobody can answer them.

    Args:
        choices: The person's choices as of `now`.
        asked: The choice to ask.
        consent: Whether it asks for a consent; these are limited in number a day.

    Raises:
        RateLimited: See `_check_limits`.
    """
    try:
        _check_limits(choices, asked, now, consent=consent)
    except RateLimited:
        answerable = _answerable(table, choices, now)
        _check_limits(answerable, asked, now, consent=consent)
        return answerable
    return choices


def _answerable(table: Table, choices: PersonChoices, now: datetime) -> PersonChoices:
    """Return the choices without the questions that the person cannot answer any more."""
    questions = [choice for choice in choices.open if choice.invited_to is None]
    keys = {choice.chat_id: Chat.key_of(choices.tenant, choice.chat_id) for choice in questions}
    found = table.get_many(list(keys.values())) if keys else {}
    person = MemberRef(kind="user", id=choices.user_id)
    for choice in questions:
        item = found.get(keys[choice.chat_id])
        chat = Chat.from_item(item) if item is not None else None
        if chat is None or chat.discarded_at is not None or not chat.has(person):
            choices = with_ended(choices, choice, now)
    return choices


def _check_limits(
    choices: PersonChoices, asked: OpenChoice, now: datetime, *, consent: bool
) -> None:
    """Refuse one choice too many.

    Args:
        choices: The person's choices as of `now`.
        asked: The choice to ask.

    Raises:
        RateLimited: The person has as many open choices as allowed, was asked for enough consents
            today, or has refused this agent twice today. The question whose number this is has no
            limit, because the person cannot go on without it.
    """
    if asked.number is not None:
        return
    invitations = [choice for choice in _others(choices, asked) if choice.purpose == INVITATION]
    others = [choice for choice in choices.open if choice.purpose != INVITATION]
    same, limit = (
        (invitations, MAX_INVITATIONS) if asked.purpose == INVITATION else (others, MAX_OPEN)
    )
    if len(same) >= limit:
        first_end = min(choice.expires_at for choice in same)
        kind = "invitations" if asked.purpose == INVITATION else "questions"
        raise _refusal(f"the person has {limit} open {kind}", first_end - now)
    if not consent:
        return
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = midnight + timedelta(days=1) - now
    if choices.consents >= MAX_CONSENTS_A_DAY:
        raise _refusal(
            f"the person was asked {MAX_CONSENTS_A_DAY} times today to agree",
            tomorrow,
        )
    if choices.refusals.get(asked.agent_id or "", 0) >= MAX_REFUSALS_A_DAY:
        raise _refusal(
            f"the person has refused {MAX_REFUSALS_A_DAY} requests of this agent today",
            tomorrow,
        )


def with_asked(
    choices: PersonChoices, asked: OpenChoice, *, consent: bool = False
) -> PersonChoices:
    """Return the choices with one more open choice.

    The question of an invitation takes the place of the invitation.
    """
    consents = choices.consents + consent
    invited_in = dict.fromkeys([*choices.invited_in, *filter(None, [asked.invited_to])])
    return choices.model_copy(
        update={
            "open": (*_others(choices, asked), asked),
            "consents": consents,
            "invited_in": tuple(invited_in),
        }
    )


def with_ended(
    choices: PersonChoices, ended: OpenChoice, now: datetime, *, refused: bool = False
) -> PersonChoices:
    """Return the choices without one that is over; its codes are known for one more day.

    Args:
        choices: The person's choices as of `now`.
        ended: One of the open choices.
        refused: Whether the person refused a consent, which counts against the agent.
    """
    refusals = dict(choices.refusals)
    if refused and ended.agent_id is not None:
        refusals[ended.agent_id] = refusals.get(ended.agent_id, 0) + 1
    left = without_chat(choices, ended.invited_to) if ended.invited_to else choices
    return left.model_copy(
        update={
            "open": tuple(choice for choice in choices.open if choice != ended),
            "over": (*choices.over, *ended.over_codes(now + CODE_KEPT))[-MAX_OVER:],
            "refusals": refusals,
        }
    )


def without_chat(choices: PersonChoices, chat_id: str) -> PersonChoices:
    """Return the choices of a person whom a chat no longer names as invited."""
    left = tuple(each for each in choices.invited_in if each != chat_id)
    return choices.model_copy(update={"invited_in": left})


def invitation_to(choices: PersonChoices, chat_id: str) -> OpenChoice | None:
    """Return the open invitation to a chat; None if there is none."""
    return next((choice for choice in choices.open if choice.invited_to == chat_id), None)


def open_choice(choices: PersonChoices, chat_id: str, seq: int) -> OpenChoice | None:
    """Return the open choice of a message, its question or the repetition; None if it is over."""
    here = (one for one in choices.open if one.chat_id == chat_id)
    return next((one for one in here if seq in {one.seq, one.repeated_seq}), None)


def with_repeated(choices: PersonChoices, asked: OpenChoice, seq: int) -> PersonChoices:
    """Return the choices after message `seq` has repeated the question of one of them."""
    repeated = asked.model_copy(update={"repeated_seq": seq})
    still_open = tuple(repeated if one == asked else one for one in choices.open)
    return choices.model_copy(update={"open": still_open})


def stored_choices(choices: PersonChoices) -> Put:
    """Return the write that stores changed choices, if nobody changed them since they were read."""
    raised = choices.model_copy(update={"version": choices.version + 1})
    return Put(raised.key, raised.to_item(), at_version(choices.version))


def _others(choices: PersonChoices, asked: OpenChoice) -> list[OpenChoice]:
    """Return the open choices besides the invitation to the chat that is asked about."""
    if asked.invited_to is None:
        return list(choices.open)
    return [choice for choice in choices.open if choice.invited_to != asked.invited_to]


def _refusal(message: str, wait: timedelta) -> RateLimited:
    return RateLimited(message, retry_after_seconds=max(1, ceil(wait.total_seconds())))
