"""The section CHAT HISTORY, as a timeline by days or as messages with roles."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from skein.agent.prompt.budget import MESSAGE_OVERHEAD_TOKENS, HistoryEntry, counted
from skein.agent.prompt.names import Names
from skein.agent.prompt.section import SEPARATOR, Section
from skein.agent.prompt.timeline import UTC, EntryContext, day_line, timeline_entry, turn_text
from skein.agent.reading.reading import Reading
from skein.agent.reading.trigger import current_seq
from skein.models.chats.chat import Message
from skein.models.runs.run import Run
from skein.models.runs.step import HISTORY
from skein.ports import TokenCounter
from skein.services.common.quoting import quoted

SHOWN_KINDS = frozenset({"text", "deleted"})
MAX_UNCOUNTED_DAYS = 3  # day lines that a cut can add: of the beginning, the trigger and the end


def history_zone(reading: Reading) -> ZoneInfo:
    """Return the time zone of the entries: UTC, or in a direct chat that of NOW."""
    return ZoneInfo(reading.zone) if reading.person is not None else UTC


def entry_context(run: Run, reading: Reading, names: Names, *, numbered: bool) -> EntryContext:
    """Return how the entries of the active chat are rendered.

    Args:
        run: The run, with its trigger.
        numbered: Whether a tool of the agent takes the numbers of messages.
    """
    chat, member, resumed = reading.chat, reading.member, run.resumed
    home = chat is not None and chat.id == run.chat_id
    here = resumed is not None and chat is not None and resumed.chat_id == chat.id
    messages = reading.history.messages
    referred = {one.reply_to for one in messages if one.reply_to is not None}
    referred |= {one.seq for one in messages if one.sender.ref == names.agent and one.expects_reply}
    referred |= {one.seq for one in messages if numbered and one.sender.ref != names.agent}
    if home and run.trigger.seq is not None and run.trigger.seq != current_seq(run, chat):
        referred.add(run.trigger.seq)
    if here and resumed is not None:
        referred.add(resumed.asked_seq)
    return EntryContext(
        names=names,
        destination=reading.destination,
        zone=history_zone(reading),
        seen_seq=member.seen_seq if member else 0,
        trigger_seq=run.trigger.seq if home else None,
        resumed=resumed if here else None,
        referred=frozenset(referred),
    )


def history_entries(
    run: Run, reading: Reading, context: EntryContext, counter: TokenCounter, *, roles: bool
) -> list[HistoryEntry]:
    """Return the history entries of the prompt.

    Keywords, notices and erased messages are left out, unless the effective settings include them.
    In a timeline, the first entry of each day also costs the line of the day.
    """
    current = current_seq(run, reading.chat)
    staying = {
        context.trigger_seq,
        context.resumed.asked_seq if context.resumed is not None else None,
    }
    entries, day = [], ""
    for message in reading.history.messages:
        if message.kind not in SHOWN_KINDS and not reading.config.effective.include_system_messages:
            continue
        overhead = MESSAGE_OVERHEAD_TOKENS
        if not roles:
            begun, day = day, day_line(message.created_at, context.zone)
            overhead = counter.count(f"{day}\n") if day != begun else 0
        entries.append(
            counted(
                message.seq,
                message.text,
                counter,
                frame=_Line(message, context, roles=roles),
                own=message.sender.ref == context.names.agent,
                current=message.seq == current,
                overhead=overhead,
                stays=message.seq in staying,
            )
        )
    return entries


@dataclass(frozen=True, slots=True)
class _Line:
    """Frame that renders a message's text as its entry in the history."""

    message: Message
    context: EntryContext
    roles: bool

    def __call__(self, text: str) -> str:
        if self.roles:
            return turn_text(self.message, text, self.context)
        return f"{timeline_entry(self.message, text, self.context)}\n"


def history_head(reading: Reading, context: EntryContext) -> str:
    """Return the first line of a timeline; '' without a chat."""
    if reading.chat is None:
        return ""
    return f"{HISTORY} ({quoted(reading.chat.display_title)}, {context.zone.key}):\n"


def head_tokens(
    head: str, reading: Reading, context: EntryContext, counter: TokenCounter, *, roles: bool
) -> int:
    """Return the tokens to keep free for the first line, and for days that begin at a cut."""
    if roles or not head:
        return 0
    days = {day_line(message.created_at, context.zone) for message in reading.history.messages}
    largest = max((counter.count(f"{day}\n") for day in days), default=0)
    return counter.count(head + SEPARATOR) + min(len(days), MAX_UNCOUNTED_DAYS) * largest


def timeline(
    head: str,
    entries: Sequence[HistoryEntry],
    reading: Reading,
    context: EntryContext,
    counter: TokenCounter,
) -> Section:
    """Render the history as one section, with a line before the entries of each day.

    The sum of the lines' counts is exact, because no token spans the end of a line.
    """
    if not entries:
        return Section(HISTORY, head.rstrip("\n"), counter.count(f"{head}\n"))
    at = {message.seq: message.created_at for message in reading.history.messages}
    lines = list(dated(((at[entry.seq], entry.line) for entry in entries), context.zone, end="\n"))
    size = counter.count(head) + sum(map(counter.count, lines))
    last = entries[-1].line.rstrip("\n")
    size += counter.count(last + SEPARATOR) - entries[-1].tokens
    return Section(HISTORY, (head + "".join(lines)).rstrip("\n"), size)


def dated(
    entries: Iterable[tuple[datetime, str]], zone: ZoneInfo, *, end: str = ""
) -> Iterator[str]:
    """Yield the lines of entries, with a line before the entries of each day.

    Args:
        entries: The time of each entry, and its line.
        end: The end of the lines of days.
    """
    day = ""
    for moment, line in entries:
        begun, day = day, day_line(moment, zone)
        if day != begun:
            yield f"{day}{end}"
        yield line
