"""When a summary is to be renewed: the one rule, for whoever asks.

As long as any summary of a chat is behind, the chat is due for upkeep: a message sets the mark, and
only upkeep takes it away, once nothing is behind. So the last state is always summarised.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.models.chat import Chat, Membership
from skein.models.jobs import SummaryJob
from skein.models.summary import Summary, SummaryState
from skein.services.chat_state.sessions import reset_in
from skein.services.config.resolution import effective_in
from skein.settings import Settings

MIN_MESSAGES = 2
PATIENCE = 3  # failures in a row after which the cooldown doubles with each
MAX_DOUBLINGS = 6


class Renewal(NamedTuple):
    """A summary that is behind, and from when on it may be renewed."""

    job: SummaryJob
    at: datetime


def renewals(chat: Chat, agents: list[Membership], settings: Settings) -> Iterator[Renewal]:
    """The summaries of `chat` that are behind: those of its agents, and its own."""
    for agent in agents:
        at = agent_renewal_at(chat, agent, settings)
        if at is not None:
            job = SummaryJob(tenant=chat.tenant, chat_id=chat.id, agent_id=agent.member.id)
            yield Renewal(job, at)
    at = chat_renewal_at(chat, settings)
    if at is not None and agents:
        yield Renewal(SummaryJob(tenant=chat.tenant, chat_id=chat.id), at)


def agent_renewal_at(chat: Chat, member: Membership, settings: Settings) -> datetime | None:
    """From when on an agent's summary of `chat` may be renewed; None if it is not behind."""
    return _renewal_at(
        chat, member.summary, member.summary_state, least=MIN_MESSAGES, settings=settings
    )


def chat_renewal_at(chat: Chat, settings: Settings) -> datetime | None:
    """From when on the shared summary of `chat` may be renewed; None if it is not behind.

    A direct chat of fewer messages than the setting asks for is summed up, too, once it has been
    quiet for half a gap: the next session, which will not show them, has something to go by.
    """
    effective = effective_in(chat, settings)
    least, since = effective.summary_message_threshold, chat.last_seq - reset_in(chat)
    at = _renewal_at(chat, chat.record, chat.record_state, least=MIN_MESSAGES, settings=settings)
    if at is None or since >= least:
        return at
    if chat.session is None or chat.last_message_at is None:
        return None
    half_a_gap = timedelta(minutes=effective.conversation_gap_minutes) / 2
    return max(at, chat.last_message_at + half_a_gap)


def _renewal_at(
    chat: Chat,
    summary: Summary | None,
    known: SummaryState | None,
    *,
    least: int,
    settings: Settings,
) -> datetime | None:
    """The end of the cooldown, which grows where the model fails again and again."""
    state = known or SummaryState()
    if not effective_in(chat, settings).auto_summary:
        return None
    covered = max(summary.seq if summary else 0, state.tried_seq)
    said = chat.last_seq - reset_in(chat)
    if chat.discarded_at is not None or said < least or chat.last_seq <= covered:
        return None
    if state.claimed_at is None:
        return chat.created_at
    doubled = 2 ** min(max(state.failures - PATIENCE, 0), MAX_DOUBLINGS)
    return state.claimed_at + timedelta(seconds=settings.summary_cooldown_seconds * doubled)
