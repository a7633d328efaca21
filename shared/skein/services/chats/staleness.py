"""Decide when a summary is stale and when it may be renewed.

A chat is due for upkeep as long as one of its summaries is stale. A message sets the due pointer,
and only upkeep clears it, once no summary is stale. So the last messages are always summarised.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.chats.summary import Summary, SummaryState
from skein.models.common.retry import Retry, doubling
from skein.models.outbox.jobs import SummaryJob
from skein.services.chat_state.sessions import first_to_summarize, reset_in
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.config.resolution import effective_in
from skein.settings import Settings

MIN_MESSAGES = 2
SAME_COOLDOWNS = 3  # consecutive failures; each further failure doubles the cooldown
MAX_DOUBLINGS = 6
TITLE_TEXTS = 3  # text messages that a chat needs before it gets a title
TITLE_TRIES = 3


class Renewal(NamedTuple):
    """The job that renews a stale summary, and the earliest time for the renewal."""

    job: SummaryJob
    at: datetime


def renewals(snapshot: ChatSnapshot, settings: Settings) -> Iterator[Renewal]:
    """Yield a renewal for each stale summary of a chat: agent summaries, chat summary and title.

    While the person of an SMS chat is opted out, nothing is renewed. The first message after START
    makes the chat due again.
    """
    chat, agents = snapshot.chat, snapshot.agents
    if snapshot.opted_out:
        return
    for agent in agents:
        at = agent_renewal_at(chat, agent, settings)
        if at is not None:
            job = SummaryJob(tenant=chat.tenant, chat_id=chat.id, agent_id=agent.member.id)
            yield Renewal(job, at)
    at = chat_renewal_at(chat, settings)
    if at is not None and agents:
        yield Renewal(SummaryJob(tenant=chat.tenant, chat_id=chat.id), at)
    at = title_renewal_at(chat, settings)
    if at is not None and agents:
        yield Renewal(SummaryJob(tenant=chat.tenant, chat_id=chat.id, title=True), at)


def agent_renewal_at(chat: Chat, member: Membership, settings: Settings) -> datetime | None:
    """Return when an agent summary may be renewed; None if the summary is not stale."""
    return _renewal_at(chat, member.summary, member.summary_state, effective_in(chat, settings))


def chat_renewal_at(chat: Chat, settings: Settings) -> datetime | None:
    """Return when the chat summary may be renewed; None if the summary is not stale.

    A chat gets a summary after `summary_message_threshold` messages since its last reset. A direct
    chat with fewer messages gets a summary after a silence of half a conversation gap, before the
    next session begins. The prompts of the next session do not show the current messages.
    """
    effective = effective_in(chat, settings)
    least, since = effective.summary_message_threshold, chat.last_seq - reset_in(chat)
    at = _renewal_at(chat, chat.summary, chat.summary_state, effective)
    if at is None or since >= least:
        return at
    if chat.session is None or chat.last_message_at is None:
        return None
    half_a_gap = timedelta(minutes=effective.conversation_gap_minutes) / 2
    return max(at, chat.last_message_at + half_a_gap)


def title_renewal_at(chat: Chat, settings: Settings) -> datetime | None:
    """Return when a title may be made for a chat; None if the chat needs no title.

    An SMS chat needs no title, because the title would never be shown.
    """
    state = chat.title_state or SummaryState()
    settled = chat.title is not None or chat.named or state.failures >= TITLE_TRIES
    if not settings.auto_title or settled or chat.line is not None:
        return None
    count = chat.last_seq - max(first_to_summarize(chat), 1) + 1
    if chat.discarded_at is not None or count < TITLE_TEXTS or state.tried_seq >= chat.last_seq:
        return None
    if state.claimed_at is None:
        return chat.created_at
    return state.claimed_at + timedelta(seconds=settings.summary_cooldown_seconds)


def _renewal_at(
    chat: Chat, summary: Summary | None, known: SummaryState | None, effective: Settings
) -> datetime | None:
    """Return when a summary's cooldown ends; None if the summary is not stale.

    The cooldown grows with consecutive failures.

    Args:
        effective: The settings of the chat.
    """
    state = known or SummaryState()
    if not effective.auto_summary:
        return None
    covered = max(summary.seq if summary else 0, state.tried_seq)
    count = chat.last_seq - reset_in(chat)
    if chat.discarded_at is not None or count < MIN_MESSAGES or chat.last_seq <= covered:
        return None
    if state.claimed_at is None:
        return chat.created_at
    cooldown = timedelta(seconds=effective.summary_cooldown_seconds)
    retry = Retry((cooldown,) * SAME_COOLDOWNS + doubling(cooldown, MAX_DOUBLINGS))
    return state.claimed_at + retry.wait(state.failures + 1)
