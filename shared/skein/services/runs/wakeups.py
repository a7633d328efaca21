"""Decide which agents a message wakes.

The chat's `respond` policy names them (`woken_by`). Two limits end chatter between agents: the
chain depth of a message (`woken_by`), and the number of runs per window (`paced`).
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.models.base import rfc3339
from skein.models.chat import Chat, Membership, Message
from skein.settings import Settings


def woken_by(
    message: Message, chat: Chat, agents: Sequence[Membership], *, max_chain_depth: int
) -> list[Membership]:
    """The agent memberships that get a run for `message`, in the order in which they are sent.

    Args:
        message: What was said; keywords and notices wake nobody.
        chat: Where; its policy decides: `every` agent but the sender, those whom the text
            `mention`s in order of appearance (all of one name), or, with `manual`, none.
        agents: The chat's active agent memberships.
        max_chain_depth: From this depth on, a message wakes nobody.
    """
    if message.kind != "text" or message.depth >= max_chain_depth or chat.respond == "manual":
        return []
    others = [agent for agent in agents if agent.member.ref != message.sender.ref]
    others.sort(key=lambda agent: agent.member.id)
    if chat.respond == "every":
        return others
    named = [(agent.member.name.casefold(), agent) for agent in others]
    called = mentions(message.text, {name for name, _ in named})
    return [agent for wanted in called for name, agent in named if name == wanted]


def mentions(text: str, names: Iterable[str]) -> list[str]:
    """The casefolded `names` that `text` mentions as `@name`, once each, in order of appearance.

    A mention is word-bounded on both sides: `me@ann.example` and `@Annabel` do not mention Ann. Of
    names that begin alike the longest counts.
    """
    longest_first = sorted(names, key=len, reverse=True)
    if not longest_first:
        return []
    pattern = rf"(?<!\w)@({'|'.join(map(re.escape, longest_first))})(?!\w)"
    return list(dict.fromkeys(re.findall(pattern, text.casefold())))


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
