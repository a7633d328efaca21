"""A person who sends several texts at once gets one answer that has read all of them.

Each text lets the answer wait a little longer, but never longer than a while after the first. The
end of that wait stands on the agent's membership, beside the slots and written with them, so that
whoever would start the run sees it, however many jobs name the run.
"""

from datetime import datetime, timedelta
from math import ceil
from typing import Any

from skein.models.base import Value
from skein.models.chat import Chat, Membership
from skein.models.trigger import Burst
from skein.services.config.resolution import effective_in
from skein.settings import Settings


class Debounce(Value):
    """How long an answer waits for more texts.

    Attributes:
        seconds: After each text.
        longest_seconds: After the first of them, however many follow.
    """

    seconds: int
    longest_seconds: int

    @property
    def first_seconds(self) -> int:
        """How long the answer to a single text waits."""
        return min(self.seconds, self.longest_seconds)


def debounce_in(chat: Chat, settings: Settings) -> Debounce:
    """How long answers in a chat wait, as its agent, line and tenant say."""
    effective = effective_in(chat, settings)
    return Debounce(
        seconds=effective.reply_debounce_seconds,
        longest_seconds=effective.reply_debounce_max_seconds,
    )


def burst_with(place: Membership, debounce: Debounce | None, now: datetime) -> dict[str, Any]:
    """The attributes of an agent's place after one more text of a person in its chat.

    A burst begins with the text that gives the agent something to answer. While the agent is busy
    with an earlier answer nobody waits because of the burst, so its end is only fixed by then.

    Args:
        place: The agent's membership, freshly read.
        debounce: How long to wait; None for what was not texted.
        now: When the text came.
    """
    if debounce is None:
        return {}
    latest = now + timedelta(seconds=debounce.longest_seconds)
    burst, busy = place.burst, place.running_run is not None
    awaited = place.queued_run is not None or bool(place.resuming)
    if burst is not None and not busy and awaited:
        latest = burst.latest
    until = min(now + timedelta(seconds=debounce.seconds), latest)
    return {"burst": Burst(until=until, latest=latest).model_dump(mode="json")}


def seconds_left(place: Membership | None, now: datetime) -> int:
    """How many whole seconds an answer in that place still has to wait; 0 when it may begin."""
    if place is None or place.burst is None:
        return 0
    return max(0, ceil((place.burst.until - now).total_seconds()))
