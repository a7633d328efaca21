"""Change a message's text, and remove its words from the chat's summaries and previews."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeGuard, TypeVar

from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.chats.summary import PinnedSummary, Summary
from skein.models.common.storage import Update
from skein.services.common.optimistic import revise
from skein.services.runs.slots import slots_unchanged

FORGOTTEN: dict[str, None] = {"summary": None, "summary_state": None}
SUMMARY_WORK = timedelta(minutes=5)  # longer than a summary worker runs

S = TypeVar("S", Summary, PinnedSummary)


def covers(summary: S | None, seq: int) -> TypeGuard[S]:
    """Return whether a summary may contain the words of message `seq`."""
    return summary is not None and summary.from_seq <= seq <= summary.seq


def chat_changed(chat: Chat, seq: int, now: datetime, *, preview: str = "") -> Update:
    """Return the write that removes a message's words from the chat's own item.

    The epoch is raised. This invalidates cached messages, and any chat summary that a worker is
    writing.

    Args:
        chat: The chat as read.
        seq: The `seq` of the message.
        now: The current time, at which upkeep is due.
        preview: The text that lists of chats show for the message.
    """
    change: dict[str, Any] = {"epoch": chat.epoch + 1}
    if chat.last_message is not None and chat.last_message.seq == seq:
        change["last_message"] = chat.last_message.model_copy(update={"text": preview})
    if covers(chat.pinned, seq):
        change["pinned"] = None
    if chat.made_title is not None and chat.made_title.from_seq <= seq <= chat.made_title.seq:
        change |= chat.without_made_title()
    if covers(chat.summary, seq):
        change |= FORGOTTEN
    if chat.briefing is not None and seq <= chat.briefing.seq:
        change["briefing"] = None
    renew = chat.discarded_at is None and chat.last_seq > 0
    _, write = revise(chat, change, also=chat.upkeep(now) if renew else None)
    return write


def summary_change(membership: Membership, seq: int, now: datetime) -> dict[str, None]:
    """Return the change that removes a message's words from an agent's summary.

    Empty if the summary does not cover the message and no worker is writing one.
    """
    state = membership.summary_state
    claimed_at = state.claimed_at if state is not None else None
    in_work = claimed_at is not None and claimed_at > now - SUMMARY_WORK
    if in_work or covers(membership.summary, seq):
        return dict(FORGOTTEN)  # also discards a summary that is being written
    return {}


def summaries_changed(members: list[Membership], seq: int, now: datetime) -> Iterator[Update]:
    """Yield the writes that remove a message's words from agents' summaries (optimistic lock)."""
    for membership in members:
        change = summary_change(membership, seq, now)
        if change:
            yield Update(membership.key, change, condition=slots_unchanged(membership))
