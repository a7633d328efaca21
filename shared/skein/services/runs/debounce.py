"""Debounce: give one answer to several SMS that a person sends in quick succession.

Each SMS delays the answer a little more, up to a maximum after the first SMS. The end of the delay
is stored on the agent's membership, in the same write as the slots. So every worker that gets a job
of the run knows the end of the delay.
"""

from datetime import datetime, timedelta
from math import ceil
from typing import Any, NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import Value
from skein.models.common.reason import Reason
from skein.models.runs.trigger import AwaitedMedia, Burst
from skein.services.config.resolution import effective_in
from skein.settings import Settings

MEDIA_SECONDS = 20  # the maximum time that an answer waits for pending files


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

    If an answer is pending and no run is running, the answer's latest start, which the first SMS
    has set, stays the same. Otherwise, this SMS counts as the first SMS, because the debounce does
    not delay a run that is already running.

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


def media_with(membership: Membership, message: Message, now: datetime) -> dict[str, Any]:
    """Return the membership attributes that record the pending files of one more message.

    The answer waits until no file is pending, but at most `MEDIA_SECONDS` after the newest message.
    """
    ids = tuple(media.id for media in message.media if media.id is not None)
    if not ids or message.sender.kind != "user":
        return {}
    awaited = membership.awaited_media
    earlier = awaited.ids if awaited is not None and awaited.until > now else ()
    until = now + timedelta(seconds=MEDIA_SECONDS)
    media = AwaitedMedia(until=until, ids=tuple(dict.fromkeys([*earlier, *ids])))
    return {"awaited_media": media.model_dump(mode="json")}


class DelayTime(NamedTuple):
    """The whole seconds that a queued run still waits, and why; 0 if it may start."""

    seconds: int
    reason: Reason


def delay_of(membership: Membership | None, now: datetime) -> DelayTime:
    """Return how long a queued run still waits for further SMS, or for pending files."""
    if membership is None:
        return DelayTime(0, Reason.DEBOUNCE)
    burst, media = membership.burst, membership.awaited_media
    delays: list[DelayTime] = []
    if burst is not None:
        delays.append(DelayTime(_seconds_until(burst.until, now), Reason.DEBOUNCE))
    if media is not None:
        delays.append(DelayTime(_seconds_until(media.until, now), Reason.MEDIA_PENDING))
    return max(delays, default=DelayTime(0, Reason.DEBOUNCE))


def _seconds_until(end: datetime, now: datetime) -> int:
    return max(0, ceil((end - now).total_seconds()))
