"""Ends endless chatter between agents: so many runs by agents' messages, then a pause."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.models.base import rfc3339
from skein.models.chat import Membership, Message
from skein.settings import Settings


class Pace(NamedTuple):
    """Whether a message may wake an agent, and what the agent's membership remembers of it."""

    allowed: bool
    changes: dict[str, Any]


def paced(
    agent: Membership, message: Message, *, woken: bool, now: datetime, settings: Settings
) -> Pace:
    """Judge whether `message` may start a run of `agent`, which it wakes or does not.

    A person's message always may, and ends a pause even where it wakes nobody. Agents' messages
    may start at most `max_agent_runs` runs within `agent_runs_window_seconds`; then the agent
    pauses in this chat until a person writes. A message that only widens a queued run, or lets a
    waiting one go on, starts none.
    """
    if message.sender.kind == "user":
        changes: dict[str, Any] = {}
        if agent.paused:
            changes["paused"] = None
        if agent.agent_wakes:
            changes["agent_wakes"] = None
        return Pace(allowed=True, changes=changes)
    if agent.paused or not woken:
        return Pace(allowed=False, changes={})
    if agent.queued_run is not None or agent.wait is not None:
        return Pace(allowed=True, changes={})
    since = now - timedelta(seconds=settings.agent_runs_window_seconds)
    recent = [at for at in agent.agent_wakes if at > since]
    if len(recent) >= settings.max_agent_runs:
        return Pace(allowed=False, changes={"paused": True})
    return Pace(allowed=True, changes={"agent_wakes": [rfc3339(at) for at in [*recent, now]]})
