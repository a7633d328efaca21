"""The sections on messages that a history does not show: earlier ones, and other chats."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from skein.agent.prompt.section import SEPARATOR, Section, around, listing
from skein.agent.prompt.sections import chat_name
from skein.agent.reading.other_chats import OwnChat
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Chat
from skein.models.common.audience import Audience, may_show
from skein.models.summaries.summary import PinnedSummary
from skein.ports import TokenCounter
from skein.prompts import render
from skein.services.chat_state.sessions import reset_in
from skein.services.common.quoting import label, quoted, quoted_id

ACTIVE_FOR = timedelta(hours=6)
MAX_CONVERSATIONS = 10

# See `sections` for the order in which sections are shortened.
OTHERS_GIVE_WAY, BORROWED_GIVES_WAY, SUMMARY_GIVES_WAY = 1, 4, 4


def conversation_summary(
    before: PinnedSummary | None, limit: int, counter: TokenCounter
) -> Section | None:
    """Render the summary of the messages before the history; None if there is none."""
    if before is None:
        return None

    def frame(words: str) -> str:
        return f"CONVERSATION SUMMARY (what was said before):\n  {quoted(words)}"

    text, priority = before.text, SUMMARY_GIVES_WAY
    return around("CONVERSATION SUMMARY", text, frame, counter, priority=priority).within(limit)


def other_conversations(
    chats: Sequence[OwnChat],
    active: Chat | None,
    readers: Audience,
    now: datetime,
    limit: int,
    counter: TokenCounter,
    *,
    may_borrow: bool,
) -> Section | None:
    """Render the agent summaries of up to 10 other chats, most recently active first.

    Args:
        chats: The agent's chats, without discarded ones.
        active: The active chat, which is left out.
        readers: The readers of the active chat. Summaries that they may not see are left out.
        now: The current time. Chats without a message in the last six hours are left out.
        limit: The token limit of the section.
        counter: The exact token counter.
        may_borrow: Whether to mention `borrow_context`.

    Returns:
        The section; None if there is nothing to show.
    """
    lines = []
    for own in sorted(chats, key=_last_message_at, reverse=True):
        summary, last = own.member.summary, own.chat.last_message_at
        if summary is None or last is None or last < now - ACTIVE_FOR:
            continue
        if active is not None and own.chat.id == active.id:
            continue
        if may_show(summary.audience, readers) and summary.from_seq >= reset_in(own.chat):
            chat = own.chat.titled_for(readers, known=summary.title)
            lines.append(f"  - {chat_name(chat)}: {quoted(summary.text)}")
    if not lines:
        return None
    hint = [f"  {render('borrowing_hint')}"] if may_borrow else []
    shown = [*hint, *lines[:MAX_CONVERSATIONS]]
    priority = OTHERS_GIVE_WAY
    return listing("OTHER ACTIVE CONVERSATIONS", shown, limit, counter, priority=priority)


def borrowed_context(
    borrowed: BorrowedContext | None, limit: int, counter: TokenCounter
) -> Section | None:
    """Render the borrowed context of this activation; None if there is none.

    If there is no room for all messages, the oldest are left out.
    """
    if borrowed is None:
        return None
    source = f"  from {quoted(borrowed.source_title)} (id: {quoted_id(borrowed.source_chat_id)})"
    said = [f"  {label(message.author)}: {quoted(message.text)}" for message in borrowed.messages]

    def without(oldest: int) -> Section:
        more = [f"  - and {oldest} more before that"] if oldest else []
        lines = ["BORROWED CONTEXT:", source, f"  {render('borrowed_note')}", *more, *said[oldest:]]
        text = "\n".join(lines)
        size = counter.count(text + SEPARATOR)
        return Section("BORROWED CONTEXT", text, size, BORROWED_GIVES_WAY, shorter)

    def shorter(tokens: int) -> Section:
        fitting = (made for n in range(len(said)) if (made := without(n)).tokens <= tokens)
        return next(fitting, without(len(said)))

    return without(0).within(limit)


def _last_message_at(own: OwnChat) -> datetime:
    return own.chat.last_message_at or own.chat.created_at
