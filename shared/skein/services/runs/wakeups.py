"""Decide which agents a message triggers.

The chat's `respond` policy selects the agents (`woken_by`). Two limits stop endless chatter between
agents: the chain depth of a message (`woken_by`), and the number of runs in a period (`paced`).
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason

MAX_AGENT_RUNS = 8  # runs of one agent in one chat that agents' messages start per window
AGENT_RUNS_WINDOW = timedelta(minutes=5)


def why_nobody(message: Message, chat: Chat, *, max_chain_depth: int) -> Reason | None:
    """Return why `message` triggers no agent of the chat; None if it may trigger agents."""
    if message.kind == "notice":
        return Reason.NOTICE
    if message.kind == "choice":
        return Reason.CHOICE
    if chat.held and message.kind in {"text", "team"}:
        return Reason.DESK
    if message.kind != "text":
        return Reason.KEYWORD
    if message.depth >= max_chain_depth:
        return Reason.CHAIN_DEPTH
    manual = chat.respond == "manual" and message.answers is None
    return Reason.RESPOND_MANUAL if manual else None


def woken_by(
    message: Message, chat: Chat, agents: Sequence[Membership], *, max_chain_depth: int
) -> list[Membership]:
    """Return the memberships of the agents that `message` triggers, in dispatch order.

    Args:
        message: The message; keywords, notices, choices and the team's messages trigger no agent.
            An answer to an agent's choice triggers only that agent, whatever the policy.
        chat: The message's chat. While a person of the team holds the chat, no message triggers an
            agent. The policy `every` triggers all agents but the sender. The policy `mention`
            triggers the agents that the text mentions, in order of appearance; if agents share a
            name, it triggers all of them. The policy `manual` triggers no agent.
        agents: The chat's active agent memberships.
        max_chain_depth: The chain depth from which messages trigger no agent.
    """
    if why_nobody(message, chat, max_chain_depth=max_chain_depth) is not None:
        return []
    others = [agent for agent in agents if agent.member.ref != message.sender.ref]
    others.sort(key=lambda agent: agent.member.id)
    if message.answers is not None:
        return [agent for agent in others if agent.member.id == message.answers]
    if chat.respond == "every":
        return others
    named = [(agent.member.name.casefold(), agent) for agent in others]
    called = mentions(message.text, {name for name, _ in named})
    return [agent for wanted in called for name, agent in named if name == wanted]


def can_be_answered(
    question: str,
    chat: Chat,
    agents: Sequence[Membership],
    *,
    depth: int,
    reply_to: int | None,
    asker: MemberRef,
    max_chain_depth: int,
    now: datetime,
) -> bool:
    """Return whether any member can answer an agent's question.

    Below the maximum chain depth, every question can be answered. At the maximum, a question starts
    no run. Another agent can then answer only if the question ends a wait of that agent. A person
    can answer, too, unless the question mentions only agents.

    Args:
        agents: The chat's active agent memberships.
        depth: The chain depth of the question.
        reply_to: The message that the question replies to.
        asker: The agent that asks.
    """
    others = [agent for agent in agents if agent.member.ref != asker]
    if depth < max_chain_depth or any(
        agent.wait is not None and agent.wait.ended_by(reply_to, now) for agent in others
    ):
        return True
    people = {each.name.casefold() for each in chat.roster if each.kind == "user"}
    names = {agent.member.name.casefold() for agent in others}
    return bool(people) and (bool(mentions(question, people)) or not mentions(question, names))


def mentions(text: str, names: Iterable[str]) -> list[str]:
    """Return the casefolded `names` that `text` mentions as `@name`.

    Each name is returned once, in order of appearance. A mention has word boundaries on both
    sides: `me@ann.example` and `@Annabel` do not mention Ann. If names share a beginning, the
    longest match counts.
    """
    longest_first = sorted(names, key=len, reverse=True)
    if not longest_first:
        return []
    pattern = rf"(?<!\w)@({'|'.join(map(re.escape, longest_first))})(?!\w)"
    return list(dict.fromkeys(re.findall(pattern, text.casefold())))


class Pace(NamedTuple):
    """Whether a message may start a run of an agent, and the changes to the agent's membership."""

    allowed: bool
    changes: dict[str, Any]


def paced(agent: Membership, message: Message, *, woken: bool, now: datetime) -> Pace:
    """Decide whether `message` may start a run of `agent` under the pace limit.

    A person's message may always start a run. It also ends a pause, even if it triggers no agent.
    Agents' messages may start at most `MAX_AGENT_RUNS` runs within `AGENT_RUNS_WINDOW`. Then
    the agent pauses in this chat until a person writes. A message that extends a queued run or
    resumes a waiting run starts no run, so the limit does not count it.

    Args:
        agent: The agent's membership, freshly read.
        woken: Whether the message triggers the agent (`woken_by`).
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
    resumes = agent.wait is not None and agent.wait.ended_by(message.reply_to, now)
    if agent.queued_run is not None or resumes:
        return Pace(allowed=True, changes={})
    since = now - AGENT_RUNS_WINDOW
    recent = [at for at in agent.agent_wakes if at > since]
    if len(recent) >= MAX_AGENT_RUNS:
        return Pace(allowed=False, changes={"paused": True})
    return Pace(allowed=True, changes={"agent_wakes": [rfc3339(at) for at in [*recent, now]]})
