"""The sections on messages that a history does not show: earlier ones, and other chats."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from skein.agent.prompt.names import Names
from skein.agent.prompt.provenance import of_borrowed
from skein.agent.prompt.section import SEPARATOR, Section, around, listing
from skein.agent.reading.other_chats import LastSession, OwnChat, newest_first
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Chat
from skein.models.common.audience import Audience, may_show
from skein.models.common.base import NamedMember
from skein.models.summaries.summary import PinnedSummary
from skein.ports import TokenCounter
from skein.prompts import render
from skein.services.chat_state.sessions import reset_in
from skein.services.common.quoting import quoted, quoted_id

ACTIVE_FOR = timedelta(hours=6)
MAX_CONVERSATIONS = 10
MINUTES_PER_HOUR, HOURS_PER_DAY = 60, 24
SHOWN_HOURS = 48  # older content shows its age in days
MAX_OF_PERSON = 3  # newest other chats of a direct chat's person, shown at any age

# See `sections` for the order in which sections are shortened.
OTHERS_GIVE_WAY, BORROWED_GIVES_WAY, SUMMARY_GIVES_WAY = 1, 4, 4


ShowId = Callable[[str, str], bool]


def always(_title: str, _chat_id: str) -> bool:
    """Show the id of every chat."""
    return True


def _name(title: str, chat_id: str, with_id: ShowId) -> str:
    """Return a chat's title, quoted for a prompt, and its id if that is to be shown."""
    suffix = f" (id: {quoted_id(chat_id)})" if with_id(title, chat_id) else ""
    return f"{quoted(title)}{suffix}"


def conversation_summary(
    before: PinnedSummary | None, limit: int, counter: TokenCounter
) -> Section | None:
    """Render the summary of the messages before the history; None if there is none."""
    if before is None:
        return None

    def frame(words: str) -> str:
        return f"CONVERSATION SUMMARY (earlier messages):\n  {quoted(words)}"

    text, priority = before.text, SUMMARY_GIVES_WAY
    return around("CONVERSATION SUMMARY", text, frame, counter, priority=priority).within(limit)


def last_session(
    last: LastSession | None, now: datetime, limit: int, counter: TokenCounter
) -> Section | None:
    """Render the summary of the person's last session in another chat; None if there is none."""
    if last is None:
        return None
    age = ago(now - min(last.chat.last_message_at or last.summary.at, last.summary.at))

    def frame(words: str) -> str:
        title = quoted(last.chat.display_title)
        return f"LAST CONVERSATION ({age}, in {title}):\n  {quoted(words)}"

    text, priority = last.summary.text, SUMMARY_GIVES_WAY
    return around("LAST CONVERSATION", text, frame, counter, priority=priority).within(limit)


def other_conversations(
    chats: Sequence[OwnChat],
    active: Chat | None,
    readers: Audience,
    now: datetime,
    limit: int,
    counter: TokenCounter,
    *,
    person: NamedMember | None = None,
    may_borrow: bool,
    with_id: ShowId = always,
) -> Section | None:
    """Render the agent summaries of up to 10 other chats, most recently active first.

    These are the chats with a message in the last six hours. In a direct chat, the person's three
    newest other chats are added, at any age.

    Args:
        chats: The agent's chats, without discarded ones.
        active: The active chat, which is left out.
        readers: The readers of the active chat. Summaries that they may not see are left out.
        person: The person of the active chat, if that is a direct chat.
        may_borrow: Whether to mention `borrow_context`.
        with_id: Whether to show the id of a chat with this title and id.

    Returns:
        The section; None if there is nothing to show.
    """
    lines: list[str] = []
    of_person = 0
    for own in newest_first(chats):
        summary, last = own.member.summary, own.chat.last_message_at
        if summary is None or last is None or (active is not None and own.chat.id == active.id):
            continue
        if not may_show(summary.audience, readers) or summary.from_seq < reset_in(own.chat):
            continue
        theirs = person is not None and own.has(person)
        of_person += theirs
        if last < now - ACTIVE_FOR and not (theirs and of_person <= MAX_OF_PERSON):
            continue
        chat = own.chat.titled_for(readers, known=summary.title)
        age = ago(now - min(last, summary.at))
        name = _name(chat.display_title, chat.id, with_id)
        lines.append(f"  - {name}, {age}: {quoted(summary.text)}")
    if not lines:
        return None
    hint = [f"  {render('borrowing_hint')}"] if may_borrow else []
    shown = [*hint, *lines[:MAX_CONVERSATIONS]]
    priority = OTHERS_GIVE_WAY
    return listing("OTHER ACTIVE CONVERSATIONS", shown, limit, counter, priority=priority)


def borrowed_context(
    borrowed: BorrowedContext | None,
    names: Names,
    now: datetime,
    limit: int,
    counter: TokenCounter,
    *,
    with_id: ShowId = always,
) -> Section | None:
    """Render the borrowed context of this activation; None if there is none.

    If there is no room for all messages, the oldest are left out.
    """
    if borrowed is None:
        return None
    entries = (of_borrowed("BORROWED CONTEXT", borrowed),)
    source = f"  from {_name(borrowed.source_title, borrowed.source_chat_id, with_id)}"
    source += f", {ago(now - borrowed.last_message_at)}"
    quotes = [
        f"  {names.stored(message.sender, message.author)}: {quoted(message.text)}"
        for message in borrowed.messages
    ]

    def without(oldest: int) -> Section:
        more = [f"  - and {oldest} more before that"] if oldest else []
        lines = [
            "BORROWED CONTEXT:",
            source,
            f"  {render('borrowed_note')}",
            *more,
            *quotes[oldest:],
        ]
        text = "\n".join(lines)
        size = counter.count(text + SEPARATOR)
        return Section("BORROWED CONTEXT", text, size, BORROWED_GIVES_WAY, shorter, entries=entries)

    def shorter(tokens: int) -> Section:
        fitting = (made for n in range(len(quotes)) if (made := without(n)).tokens <= tokens)
        return next(fitting, without(len(quotes)))

    return without(0).within(limit)


def ago(span: timedelta) -> str:
    """Format how long ago something was: in minutes, hours (up to 47) or days."""
    minutes = int(span.total_seconds()) // 60
    if minutes < 1:
        return "just now"
    if minutes < MINUTES_PER_HOUR:
        return f"{minutes} min ago"
    hours = minutes // MINUTES_PER_HOUR
    return f"{hours} h ago" if hours < SHOWN_HOURS else f"{hours // HOURS_PER_DAY} days ago"
