"""When a chat is quiet enough for what was said in it to be remembered: the one rule.

A chat is due for that from the first message after a consolidation on. Whoever finds it busy, or
sees an attempt fail, leaves it due for later; only a worker that finds nothing left takes the mark
away. Marks stand at full hours, since the finder comes hourly.
"""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.models.base import rfc3339
from skein.models.chat import Chat, Membership
from skein.models.consolidation import Consolidation
from skein.models.storage import Condition, Update
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.settings import Settings

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
PATIENCE = 3  # failures in a row after which a chat is reported, and tried daily


class Marked(NamedTuple):
    """A chat that comes to be due: what changes of it, and what is written beside it."""

    change: dict[str, Any]
    write: Update


def marked(chat: Chat, at: datetime | None, *, condition: Condition | None = None) -> Marked:
    """Leave `chat` due for consolidation at `at`, or not at all.

    Both are written together, on the version of the chat that was read; `condition` is on what
    stands beside it.
    """
    beside = Consolidation(tenant=chat.tenant, chat_id=chat.id)
    change = {"consolidation_at": rfc3339(at) if at is not None else None}
    return Marked(change, Update(beside.key, beside.to_item(at), condition=condition))


def left_due(snapshot: ChatSnapshot, *, now: datetime, settings: Settings) -> Marked | None:
    """What leaves a chat due that is not yet, if there is anything to be remembered."""
    if snapshot.chat.consolidation_at is not None:
        return None
    at = next_look(snapshot, requested_seq=None, now=now, settings=settings)
    return marked(snapshot.chat, at) if at is not None else None


def quiet_at(chat: Chat, settings: Settings) -> datetime:
    """From when on the chat counts as quiet, unless something is said meanwhile."""
    said_at = chat.last_message_at or chat.created_at
    return said_at + timedelta(seconds=settings.consolidation_idle_seconds)


def next_look(
    snapshot: ChatSnapshot, *, requested_seq: int | None, now: datetime, settings: Settings
) -> datetime | None:
    """When a chat is to be looked at next; None if there is nothing left to be remembered.

    Args:
        snapshot: The chat and its members.
        requested_seq: Up to where somebody wants it now.
        now: The present.
        settings: Of this deployment.
    """
    if snapshot.chat.discarded_at is not None:
        return None
    quiet = full_hour(quiet_at(snapshot.chat, settings))
    times: list[datetime] = []
    for agent in snapshot.agents:
        asked = wanted(agent, requested_seq)
        if agent.remembered_seq >= snapshot.chat.last_seq or not (
            asked or snapshot.chat.consolidate
        ):
            continue
        at = now if asked else quiet
        times.append(max(at, retry_at(agent) or at))
    return min(times, default=None)


def wanted(agent: Membership, requested_seq: int | None) -> bool:
    """Whether somebody has asked for what the agent has not remembered yet."""
    return requested_seq is not None and agent.remembered_seq < requested_seq


def retry_at(agent: Membership) -> datetime | None:
    """When the next attempt is to be made, if the newest one failed."""
    return agent.consolidation_retry_at if agent.consolidation_failures else None


def after_failure(now: datetime, failures: int) -> datetime:
    """When to try again after so many failures in a row: in the next hour, later the next day."""
    return next_hour(now if failures < PATIENCE else now + DAY - HOUR)


def full_hour(moment: datetime) -> datetime:
    """The first full hour that is not before `moment`."""
    hour = moment.replace(minute=0, second=0, microsecond=0)
    return hour if hour == moment else hour + HOUR


def next_hour(moment: datetime) -> datetime:
    """The first full hour after `moment`."""
    return moment.replace(minute=0, second=0, microsecond=0) + HOUR
