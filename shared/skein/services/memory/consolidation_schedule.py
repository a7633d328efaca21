"""Consolidation schedule: the one rule for when a chat is due for consolidation.

The first message after a consolidation makes the chat due. If the chat is busy or an attempt fails,
the worker makes the chat due again for later. The due pointer is cleared only by a worker that
finds no messages left. Due times are full hours, because the finder runs hourly; only an operator's
request makes a chat due at once.
"""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.models.chats.chat import Chat, Membership
from skein.models.common.base import rfc3339
from skein.models.common.storage import Condition, Update
from skein.models.memory.consolidation import Consolidation
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.settings import Settings

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MAX_FAILURES = 3  # consecutive failures after which a chat is reported, and retried daily


class DueChange(NamedTuple):
    """Change that makes a chat due: the chat's attributes, and the write of `Consolidation`."""

    change: dict[str, Any]
    write: Update


def due_change(chat: Chat, at: datetime | None, *, condition: Condition | None = None) -> DueChange:
    """Build the change that makes a chat due for consolidation at `at`.

    If `at` is None, the change clears the due pointer. The caller writes both parts in one
    transaction, conditional on the chat's version as read (optimistic lock). `condition` applies
    to the `Consolidation` item.
    """
    consolidation = Consolidation(tenant=chat.tenant, chat_id=chat.id)
    change = {"consolidation_at": rfc3339(at) if at is not None else None}
    return DueChange(
        change, Update(consolidation.key, consolidation.to_item(at), condition=condition)
    )


def consolidation_due(
    snapshot: ChatSnapshot, *, now: datetime, settings: Settings
) -> DueChange | None:
    """Build the change that makes a chat due, if it has messages to consolidate.

    Returns:
        The change; None if the chat is due already or nothing is left to consolidate.
    """
    if snapshot.chat.consolidation_at is not None:
        return None
    at = next_consolidation(snapshot, requested_seq=None, now=now, settings=settings)
    return due_change(snapshot.chat, at) if at is not None else None


def idle_at(chat: Chat, settings: Settings) -> datetime:
    """Return when the chat counts as quiet, unless another message arrives before."""
    said_at = chat.last_message_at or chat.created_at
    return said_at + timedelta(seconds=settings.consolidation_idle_seconds)


def next_consolidation(
    snapshot: ChatSnapshot, *, requested_seq: int | None, now: datetime, settings: Settings
) -> datetime | None:
    """Return when the consolidation of a chat is due next; None if nothing is left.

    Args:
        snapshot: The chat and its memberships.
        requested_seq: The last message that an operator wants consolidated now; None without a
            request.
        now: The current time.
        settings: The deployment's settings.
    """
    if snapshot.chat.discarded_at is not None:
        return None
    idle = full_hour(idle_at(snapshot.chat, settings))
    times: list[datetime] = []
    for agent in snapshot.agents:
        asked = wanted(agent, requested_seq)
        if agent.remembered_seq >= snapshot.chat.last_seq or not (
            asked or snapshot.chat.consolidate
        ):
            continue
        at = now if asked else idle
        times.append(max(at, retry_at(agent) or at))
    return min(times, default=None)


def wanted(agent: Membership, requested_seq: int | None) -> bool:
    """Tell whether an operator requested messages that the agent has not consolidated yet."""
    return requested_seq is not None and agent.remembered_seq < requested_seq


def retry_at(agent: Membership) -> datetime | None:
    """Return when the agent's next attempt is due; None unless the last attempt failed."""
    return agent.consolidation_retry_at if agent.consolidation_failures else None


def after_failure(now: datetime, failures: int) -> datetime:
    """Return the time of the retry after a number of consecutive failures.

    That is the next full hour for the first two failures. From the third failure on, it is the
    first full hour after 23 hours.
    """
    return next_hour(now if failures < MAX_FAILURES else now + DAY - HOUR)


def full_hour(moment: datetime) -> datetime:
    """Round a moment up to a full hour; a full hour is returned unchanged."""
    hour = moment.replace(minute=0, second=0, microsecond=0)
    return hour if hour == moment else hour + HOUR


def next_hour(moment: datetime) -> datetime:
    """Return the first full hour after a moment."""
    return moment.replace(minute=0, second=0, microsecond=0) + HOUR
