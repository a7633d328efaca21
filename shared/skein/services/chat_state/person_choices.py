"""Read, change and store a person's open choices: the questions still to be answered.

Each person has one item `PersonChoices`. Each transaction that asks or ends a choice also writes
this item, under an optimistic lock, so that no choice is answered twice. The limits on consents
apply to each chat separately, so that one chat reveals nothing about another.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import ceil

from skein.errors import RateLimited
from skein.models.chats.chat import Message
from skein.models.chats.choice import INVITATION
from skein.models.chats.person_choices import (
    MAX_CONSENTS_A_DAY,
    MAX_INVITATIONS,
    MAX_OVER,
    MAX_REFUSALS_A_DAY,
    DayCounts,
    OpenChoice,
    PersonChoices,
)
from skein.models.common.storage import Item, Key, Put, Write, at_version
from skein.ports import Table

CODE_KEPT = timedelta(days=1)  # after a choice ends, an SMS with its code gets an explanation


def read_choices(table: Table, tenant: str, user_id: str, now: datetime) -> PersonChoices:
    """Read a person's choices as of `now`, without expired choices."""
    item = table.get(PersonChoices.key_of(tenant, user_id))
    return current_choices(item, tenant, user_id, now)


def found_choices(
    found: Mapping[Key, Item], tenant: str, user_id: str, now: datetime
) -> PersonChoices:
    """Return a person's unexpired choices, from items that were read in one batch."""
    return current_choices(found.get(PersonChoices.key_of(tenant, user_id)), tenant, user_id, now)


def current_choices(item: Item | None, tenant: str, user_id: str, now: datetime) -> PersonChoices:
    """Return a person's choices as of `now`: without expired choices, with today's counts.

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
    codes = [code for each in expired for code in each.over_codes(each.expires_at + CODE_KEPT)]
    over = [code for code in (*stored.over, *codes) if code.until > now]
    still_open = (choice for choice in stored.open if choice.expires_at > now)
    return stored.model_copy(
        update={
            "open": tuple(still_open),
            "over": tuple(over[-MAX_OVER:]),
            "day": today,
            "counts": stored.counts if stored.day == today else {},
        }
    )


def with_asked(
    choices: PersonChoices, asked: OpenChoice, now: datetime, *, consent: bool = False
) -> PersonChoices:
    """Return the choices with `asked` added to the open choices.

    If `asked` is about an invitation to a chat, it replaces the open choice about that invitation.

    Args:
        choices: The person's choices as of `now`.
        asked: The choice to ask.
        consent: Whether `asked` asks for a consent.

    Raises:
        RateLimited: The person has the maximum number of open invitations. For a consent: today, in
            this chat, the person was asked too often or refused this agent too often.
    """
    others = _others(choices, asked)
    invitations = [choice for choice in others if choice.purpose == INVITATION]
    if asked.purpose == INVITATION and len(invitations) >= MAX_INVITATIONS:
        first_end = min(choice.expires_at for choice in invitations)
        why = f"the person has {MAX_INVITATIONS} open invitations"
        raise rate_limited(why, first_end - now)
    counts = choices.counts
    if consent:
        today = _checked(counts.get(asked.chat_id, DayCounts()), asked.agent_id, now)
        changed = today.model_copy(update={"consents": today.consents + 1})
        counts = {**counts, asked.chat_id: changed}
    invited_in = dict.fromkeys([*choices.invited_in, *filter(None, [asked.invited_to])])
    return choices.model_copy(
        update={
            "open": (*others, asked),
            "counts": counts,
            "invited_in": tuple(invited_in),
        }
    )


def _checked(today: DayCounts, agent_id: str | None, now: datetime) -> DayCounts:
    """Check that the agent may ask for another consent today, and return the counts unchanged.

    Raises:
        RateLimited: The agent may not ask for another consent today.
    """
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = midnight + timedelta(days=1) - now
    if today.consents >= MAX_CONSENTS_A_DAY:
        why = f"the person was asked {MAX_CONSENTS_A_DAY} times today to agree"
        raise rate_limited(f"{why} to something in this chat", tomorrow)
    if today.refusals.get(agent_id or "", 0) >= MAX_REFUSALS_A_DAY:
        why = f"the person has refused {MAX_REFUSALS_A_DAY} requests of this agent today"
        raise rate_limited(f"{why} in this chat", tomorrow)
    return today


def with_ended(
    choices: PersonChoices, ended: OpenChoice, now: datetime, *, refused: bool = False
) -> PersonChoices:
    """Return the choices without `ended`; its codes are remembered for one more day.

    Args:
        choices: The person's choices as of `now`.
        ended: One of the open choices.
        refused: Whether the person refused a consent; refusals count toward the agent's limit.
    """
    counts = choices.counts
    if refused and ended.agent_id is not None:
        today = counts.get(ended.chat_id, DayCounts())
        refusals = {**today.refusals, ended.agent_id: today.refusals.get(ended.agent_id, 0) + 1}
        changed = today.model_copy(update={"refusals": refusals})
        counts = {**counts, ended.chat_id: changed}
    left = without_chat(choices, ended.invited_to) if ended.invited_to else choices
    return left.model_copy(
        update={
            "open": tuple(choice for choice in choices.open if choice != ended),
            "over": (*choices.over, *ended.over_codes(now + CODE_KEPT))[-MAX_OVER:],
            "counts": counts,
        }
    )


def without_chat(choices: PersonChoices, chat_id: str) -> PersonChoices:
    """Return the choices without an open invitation to the chat."""
    left = tuple(each for each in choices.invited_in if each != chat_id)
    return choices.model_copy(update={"invited_in": left})


def invitation_to(choices: PersonChoices, chat_id: str) -> OpenChoice | None:
    return next((choice for choice in choices.open if choice.invited_to == chat_id), None)


def open_choice(choices: PersonChoices, chat_id: str, seq: int) -> OpenChoice | None:
    """Return the open choice that message `seq` asks or repeats; None if there is none."""
    here = (one for one in choices.open if one.chat_id == chat_id)
    return next((one for one in here if seq in {one.seq, one.repeated_seq}), None)


def with_repeated(choices: PersonChoices, asked: OpenChoice, seq: int) -> PersonChoices:
    """Return the choices after message `seq` has repeated the question of `asked`."""
    repeated = asked.model_copy(update={"repeated_seq": seq})
    still_open = tuple(repeated if one == asked else one for one in choices.open)
    return choices.model_copy(update={"open": still_open})


def stored_choices(choices: PersonChoices) -> Put:
    """Return the write that stores changed choices (optimistic lock)."""
    raised = choices.model_copy(update={"version": choices.version + 1})
    return Put(raised.key, raised.to_item(), at_version(choices.version))


def expired(question: Message, now: datetime) -> list[Write]:
    """Return the write that expires a question now; no write if the question is not open."""
    if question.choice is None or question.choice.status(now) != "open":
        return []
    return [question.with_choice(question.choice.model_copy(update={"expires_at": now}))]


def _others(choices: PersonChoices, asked: OpenChoice) -> list[OpenChoice]:
    if asked.invited_to is None:
        return list(choices.open)
    return [choice for choice in choices.open if choice.invited_to != asked.invited_to]


def rate_limited(message: str, wait: timedelta) -> RateLimited:
    """Return the error for a choice that may not be asked yet, with the time to wait."""
    return RateLimited(message, retry_after_seconds=max(1, ceil(wait.total_seconds())))
