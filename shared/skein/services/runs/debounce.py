"""Debounce: one answer to several SMS that a person sends in quick succession.

Each SMS delays the answer a little more, up to a maximum after the first one. The end of the delay
is stored on the agent's membership and written together with the slots. So every worker that gets a
job of the run sees it.
"""

from datetime import datetime, timedelta
from math import ceil
from typing import Any

from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.base import Value
from skein.models.runs.trigger import Burst
from skein.services.config.resolution import effective_in
from skein.settings import Settings


class Debounce(Value):
    """The debounce of the answers in a chat, in seconds.

    Attributes:
        seconds: The delay after each message.
        longest_seconds: The maximum delay after the first SMS, however many follow; at least
            `seconds`.
    """

    seconds: int
    longest_seconds: int


def debounce_in(chat: Chat, settings: Settings) -> Debounce:
    """Return the debounce of a chat, from the settings of its agent, line and tenant."""
    effective = effective_in(chat, settings)
    return Debounce(
        seconds=effective.reply_debounce_seconds,
        longest_seconds=max(effective.reply_debounce_seconds, effective.reply_debounce_max_seconds),
    )


def burst_with(membership: Membership, debounce: Debounce | None, now: datetime) -> dict[str, Any]:
    """Return the membership attributes that record one more SMS of a person.

    The burst keeps its latest end while an answer is pending and no run is running. Otherwise this
    SMS sets a new latest end: while a run is running, nobody waits because of the debounce.

    Args:
        membership: The agent's membership, freshly read.
        debounce: The debounce of the chat; None for a message that is not an SMS.
        now: When the SMS arrived.
    """
    if debounce is None:
        return {}
    latest = now + timedelta(seconds=debounce.longest_seconds)
    burst, busy = membership.burst, membership.running_run is not None
    awaited = membership.queued_run is not None or bool(membership.resuming)
    if burst is not None and not busy and awaited:
        latest = burst.latest
    until = min(now + timedelta(seconds=debounce.seconds), latest)
    return {"burst": Burst(until=until, latest=latest).model_dump(mode="json")}


def seconds_left(membership: Membership | None, now: datetime) -> int:
    """Return how many whole seconds of debounce are left; 0 if the run may start."""
    if membership is None or membership.burst is None:
        return 0
    return max(0, ceil((membership.burst.until - now).total_seconds()))
