"""Decide when a chat is due for consolidation.

A consolidation makes memories from the new messages of a chat. The first message after a
consolidation makes the chat due again. If the chat is busy or an attempt fails, the worker
postpones the due time. Only a worker that finds no more messages to consolidate clears the due
pointer. A chat is due at the first due time after it has become idle. Only an operator's request
makes a chat due at once.

- A group is idle after six hours without messages. Due times are full hours, because the finder
  runs hourly.
- A direct chat is idle after 30 minutes without messages. Due times are multiples of five minutes.
  At a due time, the tick sends the job. Only a text of the person makes the chat due; agents'
  messages are consolidated together with the person's next text. A chat is not due while its person
  has opted out of SMS. The SMS "START" makes the chat due again if it has messages to consolidate.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.chats.consolidation import Consolidation
from skein.models.chats.membership import Membership
from skein.models.common.base import rfc3339
from skein.models.common.storage import Condition, Update
from skein.models.directory.agent import Agent
from skein.ports import Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.config.resolution import (
    effective_in,
    effective_settings,
    found_settings,
    keys_of_settings,
)
from skein.services.visibility.sharing_rules import pause_in
from skein.settings import Settings

HOUR = timedelta(hours=1)
GRAIN = timedelta(minutes=5)  # the interval between two due times of direct chats
DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_FAILURES = 3  # consecutive failures after which a chat is reported, and retried daily


class DueChange(NamedTuple):
    """A new due time, as attributes to set in the chat, and as a write of the `Consolidation`."""

    change: dict[str, Any]
    write: Update


def due_change(chat: Chat, at: datetime | None, *, condition: Condition | None = None) -> DueChange:
    """Build the change that makes a chat due for consolidation at `at`.

    If `at` is None, the change clears the due pointer. The caller writes both parts in one
    transaction, conditional on the chat's version as read (optimistic lock). `condition` applies
    to the `Consolidation` item.
    """
    consolidation = Consolidation.of(chat)
    change = {"consolidation_at": rfc3339(at) if at is not None else None}
    return DueChange(
        change, Update(consolidation.key, consolidation.to_item(at), condition=condition)
    )


def consolidation_due(
    snapshot: ChatSnapshot, *, now: datetime, settings: Settings
) -> DueChange | None:
    """Build the change that makes a chat due, if it has messages to consolidate.

    Returns:
        The change; None if the chat is due already or has nothing to consolidate.
    """
    if snapshot.chat.consolidation_at is not None:
        return None
    if not may_be_due(snapshot.chat, settings):
        return None
    at = next_consolidation(snapshot, requested_seq=None, now=now, settings=settings)
    return due_change(snapshot.chat, at) if at is not None else None


def may_be_due(chat: Chat, settings: Settings) -> bool:
    """Return whether the chat's own attributes allow new messages to make the chat due.

    A group that does not set `consolidate` inherits the value from its agents and the tenant. Only
    the worker reads the settings of agents and tenant, so for such a group, the result is True.
    """
    if chat.consolidate is not None:
        return chat.consolidate
    return chat.kind == "group" or effective_in(chat, settings).consolidate


def makes_due(chat: Chat, message: Message, settings: Settings) -> bool:
    """Return whether a new message of a chat must be consolidated."""
    return is_new_text(chat, message) and may_be_due(chat, settings)


def makes_due_again(snapshot: ChatSnapshot, message: Message, settings: Settings) -> bool:
    """Return whether START, or a yes to a sharing rule, makes a direct chat due again.

    The chat is due again if it has messages to consolidate. After a yes to a sharing rule, they can
    be earlier messages, which the rule may now share.
    """
    chat = snapshot.chat
    if chat.kind != "direct" or message.kind != "keyword" or chat.consolidation_at is not None:
        return False
    unread = (has_new(chat, each) or has_own_words(chat, each) for each in snapshot.agents)
    return may_be_due(chat, settings) and any(unread)


def is_new_text(chat: Chat, message: Message) -> bool:
    """Return whether a message is new text, for which a consolidation may be due.

    In a direct chat, only the person's texts count. An agent's messages are consolidated together
    with the person's next text.
    """
    if message.kind == "team":
        return chat.kind == "group"
    if message.kind != "text":
        return False
    return chat.kind == "group" or (message.sender.kind == "user" and not message.resets)


def agents_without(table: Table, snapshot: ChatSnapshot, settings: Settings) -> frozenset[str]:
    """Return the ids of a chat's agents that do not consolidate the chat.

    If the chat sets `consolidate`, the value applies to all its agents. Otherwise, the settings of
    the agents, the line and the tenant are read, in one batch.
    """
    chat, ids = snapshot.chat, [agent.member.id for agent in snapshot.agents]
    if chat.consolidate is not None:
        return frozenset(() if chat.consolidate else ids)
    keys = {agent_id: Agent.key_of(chat.tenant, agent_id) for agent_id in ids}
    found = table.get_many([*keys.values(), *keys_of_settings(chat.tenant, chat)])
    line, tenant = found_settings(chat.tenant, chat, found)
    agents = {agent_id: Agent.read(found, key) for agent_id, key in keys.items()}
    return frozenset(
        agent_id
        for agent_id, agent in agents.items()
        if not effective_settings(agent, line, tenant, settings, chat=chat).consolidate
    )


def has_new(chat: Chat, agent: Membership) -> bool:
    """Return whether a chat has new messages that the agent has not consolidated.

    In a direct chat, only texts of its person count.
    """
    newest = chat.person_seq if chat.kind == "direct" else chat.last_seq
    return agent.remembered_seq < newest


def has_own_words(chat: Chat, agent: Membership) -> bool:
    """Return whether the agent has yet to search the newest texts for what rules may share.

    The result is False if the person was never notified of a sharing rule.
    """
    direct = chat.kind == "direct" and chat.sharing is not None
    return direct and agent.own_words_read < chat.person_seq


def idle_at(chat: Chat, settings: Settings) -> datetime:
    """Return when a chat counts as idle if no further message arrives.

    If a sharing rule may share what is said in the current conversation, the chat does not count as
    idle before that conversation has ended.
    """
    said_at = chat.last_message_at or chat.created_at
    at = said_at + timedelta(seconds=effective_in(chat, settings).consolidation_idle_seconds)
    return max(at, chat.sharing.quiet_at(pause_in(chat, settings))) if chat.sharing else at


def next_consolidation(
    snapshot: ChatSnapshot,
    *,
    requested_seq: int | None,
    now: datetime,
    settings: Settings,
    without: Collection[str] = (),
) -> datetime | None:
    """Return when a chat's next consolidation is due; None if no messages are left.

    Args:
        requested_seq: The last message that an operator wants consolidated now, if any.
        without: The ids of the agents that do not consolidate the chat.
    """
    chat = snapshot.chat
    if chat.discarded_at is not None:
        return None
    idle = due_time(chat, idle_at(chat, settings))
    times: list[datetime] = []
    for agent in snapshot.agents:
        asked = wanted(agent, requested_seq)
        waits = snapshot.opted_out or agent.member.id in without
        new = has_new(chat, agent) or has_own_words(chat, agent)
        if not asked and (waits or not new):
            continue
        at = now if asked else idle
        times.append(max(at, retry_at(agent) or at))
    return min(times, default=None)


def wanted(agent: Membership, requested_seq: int | None) -> bool:
    """Return whether an operator requested consolidation of messages that are still pending."""
    return requested_seq is not None and agent.remembered_seq < requested_seq


def retry_at(agent: Membership) -> datetime | None:
    """Return when to retry an agent's consolidation; None if the last attempt did not fail."""
    return agent.consolidation_retry_at if agent.consolidation_failures else None


def after_failure(now: datetime, failures: int) -> datetime:
    """Return the time of the retry after a number of consecutive failures.

    After the first and the second failure, the next retry is at the next full hour. After each
    further failure, the next retry is at the first full hour after 23 hours.
    """
    return next_hour(now if failures < MAX_FAILURES else now + DAY - HOUR)


def due_time(chat: Chat, moment: datetime) -> datetime:
    """Round a moment up to the next due time of a chat; a due time is returned unchanged.

    Due times are multiples of five minutes for a direct chat, and full hours for a group.
    """
    grain = grain_of(chat)
    over = (moment - EPOCH) % grain
    return moment if not over else moment - over + grain


def next_due_time(chat: Chat, moment: datetime) -> datetime:
    """Return the first due time of a chat after a moment."""
    at = due_time(chat, moment)
    return at if at > moment else at + grain_of(chat)


def grain_of(chat: Chat) -> timedelta:
    """Return the interval between two due times of a chat."""
    return GRAIN if chat.kind == "direct" else HOUR


def next_hour(moment: datetime) -> datetime:
    """Return the first full hour after a moment."""
    return moment.replace(minute=0, second=0, microsecond=0) + HOUR
