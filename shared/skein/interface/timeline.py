"""Render the entries of a history, as lines of a timeline or as turns.

A person's text cannot break out of its own entry (docs/security.md, "Entries of a prompt"). In a
timeline, texts are JSON strings without line breaks, names are plain, and nothing else in a line
comes from a person. As turns, all lines of a message except the first begin with a bar.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from skein.interface.names import Names, shown_origin
from skein.models.chats.chat import Media, Message
from skein.models.common.base import MemberRef
from skein.models.runs.trigger import Resume
from skein.models.visibility.audience import Audience
from skein.services.common.quoting import (
    bracket_lines_behind_bars,
    further_lines_behind_bars,
    quoted,
)

TRIGGER_LABEL = "\u2190 TRIGGER"
RESUME_LABEL = "\u2190 RESUME"
NOT_DELIVERED = {"all": "[not delivered] ", "part": "[delivered only in part] "}
MESSAGE_DELETED = "[message deleted]"
GONE = "someone who has left"
MINUTES_PER_HOUR, HOURS_PER_DAY = 60, 24
SHOWN_HOURS = 48  # older content shows its age in days
UTC = ZoneInfo("UTC")
NO_CAPTIONS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryContext:
    """How the entries of one history are rendered.

    Attributes:
        names: The names of the members, and the agent that reads the history.
        destination: The readers of the active chat, which decide whether an origin may be shown.
        now: The time of the reading, which determines the status of choices.
        seen_seq: The agent's SEEN watermark in the chat.
        trigger_seq: The `seq` of the trigger's message; None if it is in another chat.
        resumed: How the run's newest wait in this chat ended.
        referred: The numbers of the messages to which other parts of the prompt refer.
        marked: Whether entries of a timeline have [NEW] or [SEEN].
        media: The captions of pictures and files, by id. A file without an entry gets a caption
            from the data in its message.
    """

    names: Names
    destination: Audience
    now: datetime
    zone: ZoneInfo = UTC
    seen_seq: int = 0
    trigger_seq: int | None = None
    resumed: Resume | None = None
    referred: Collection[int] = ()
    marked: bool = True
    media: Mapping[str, str] = field(default_factory=dict)


def day_line(moment: datetime, zone: ZoneInfo) -> str:
    """Return the line that begins a day in a timeline: `  -- 2026-02-18 --`."""
    return f"  -- {moment.astimezone(zone):%Y-%m-%d} --"


def dated(
    entries: Iterable[tuple[datetime, str]], zone: ZoneInfo, *, end: str = ""
) -> Iterator[str]:
    """Yield the lines of entries, with a day line before the entries of each day.

    Args:
        entries: The time of each entry, and its line.
        zone: The time zone of the days.
        end: The end of each day line.
    """
    day = ""
    for moment, line in entries:
        begun, day = day, day_line(moment, zone)
        if day != begun:
            yield f"{day}{end}"
        yield line


def timeline_entry(message: Message, text: str, context: EntryContext) -> str:
    """Render a message as one line of the timeline.

    Args:
        text: The text to show, which the budget may have cut.
        context: How the entries of the history are rendered.
    """
    own, resumed = message.sender.ref == context.names.agent, context.resumed
    details = [f"reply to msg:{message.reply_to}"] if message.reply_to is not None else []
    if own and message.expects_reply:
        details.append("waited for a reply")
    details += _choice_of(message, context)
    reply = f" ({', '.join(details)})" if details else ""
    at = message.created_at.astimezone(context.zone)
    seen = " [SEEN]" if own or message.seq <= context.seen_seq else " [NEW]"
    content = f"{_kind(message)}{_delivery_and_origin(message, context)}{quoted(text)}"
    if message.kind == "deleted":
        content = MESSAGE_DELETED
    line = (
        f"[msg:{message.seq} {at:%H:%M}] {context.names.speaker(message)}{reply}: "
        f"{content}{attached(message, context.media)}{seen if context.marked else ''}"
    )
    if message.seq == context.trigger_seq:
        line += f" {TRIGGER_LABEL}"
    if resumed is not None and resumed.seq == message.seq:
        line += f" {RESUME_LABEL}"
    if resumed is not None and resumed.status == "timeout" and resumed.asked_seq == message.seq:
        line += f" {RESUME_LABEL} (timeout)"
    return f"  {line}"


def turn_text(message: Message, text: str, context: EntryContext) -> str:
    """Render a message as a turn of its own, for a history of messages with roles.

    Another member's turn begins with the sender's name in brackets. A name cannot contain a closing
    bracket. If the prompt refers to the message, its number and time are also in the brackets. All
    lines except the first begin with a bar, so that no line can imitate another entry.

    The agent's own text has no name in brackets and no bars, because the agent would imitate them.
    Only lines of it that begin with a bracket get a bar, because entries and notes begin with
    brackets. If the message was requested in another chat, a note before the text gives this
    origin. If the prompt refers to the message, the note gives its number. If a message was not
    delivered, the note says so, too.
    """
    own = message.sender.ref == context.names.agent
    lines = bracket_lines_behind_bars(text) if own else further_lines_behind_bars(text)
    media = attached(message, context.media).removeprefix(" ")
    words = _kind(message) + " ".join(part for part in (lines, media) if part)
    if message.kind == "deleted":
        words = MESSAGE_DELETED
    details = []
    if message.seq in context.referred and message.kind != "deleted":
        at = message.created_at.astimezone(context.zone)
        details.append(f"msg:{message.seq} {at:%Y-%m-%d %H:%M %Z}")
    if message.reply_to is not None and message.reply_to in context.referred:
        details.append(f"reply to msg:{message.reply_to}")
    details += _choice_of(message, context)
    if own:
        marks = f"[{', '.join(details)}] " if details else ""
        return f"{marks}{_delivery_and_origin(message, context)}{words}"
    kind = "agent" if message.sender.kind == "agent" else "human"
    return f"[{', '.join([f'{context.names.speaker(message)} ({kind})', *details])}] {words}"


def _choice_of(message: Message, context: EntryContext) -> list[str]:
    """Return the addressee and the status of a question; empty for other messages."""
    choice = message.choice
    if choice is None:
        return []
    addressee = MemberRef(kind="user", id=choice.addressee)
    asked = f"question to {context.names.known.get(addressee, GONE)}"
    if choice.answer is not None:
        option = choice.option(choice.answer.option or "")
        label = f" {quoted(option.label)}" if option is not None else ""
        return [asked, f"answered{label} in msg:{choice.answer.seq}"]
    if choice.status(context.now) == "expired":
        return [asked, "expired"]
    until = choice.expires_at.astimezone(context.zone)
    return [asked, f"open until {until:%Y-%m-%d %H:%M %Z}"]


def origin_of(message: Message, context: EntryContext) -> str:
    """Return a note on the origin of the agent's message; '' if it may not be shown."""
    origin = shown_origin(message, context.names.agent, context.destination)
    if origin is None:
        return ""
    asker = context.names.stored(origin.asker, origin.asked_by)
    return f"[sent because {asker} asked {quoted(origin.text)} in {quoted(origin.chat_title)}] "


def _delivery_and_origin(message: Message, context: EntryContext) -> str:
    """Return the notes before the agent's own text: on its delivery and its origin."""
    return f"{delivery_of(message, context)}{origin_of(message, context)}"


def delivery_of(message: Message, context: EntryContext) -> str:
    """Return a note if the SMS of the agent's message did not reach the person; otherwise ''."""
    own = message.sender.ref == context.names.agent
    return NOT_DELIVERED[message.not_delivered] if own and message.not_delivered else ""


def attached(message: Message, captions: Mapping[str, str] = NO_CAPTIONS) -> str:
    """Return the captions of a message's pictures and files.

    Args:
        captions: More detailed captions, by the ids of their files. A file without such a caption
            gets one from the data in its message.
    """
    shown = (
        captions.get(media.id or "") or _caption(media, message.seq, number)
        for number, media in enumerate(message.media, 1)
    )
    return "".join(f" {caption}" for caption in shown)


def media_name(content_type: str, seq: int, number: int) -> str:
    """Return the name of a picture or file in prompts, such as `picture 12.1`."""
    return f"{'picture' if content_type.startswith('image/') else 'file'} {seq}.{number}"


def _caption(media: Media, seq: int, number: int) -> str:
    """Return a file's caption, made only from the data in its message."""
    if media.id is None:
        return f"[attached: {quoted(media.content_type)}]"
    name = media_name(media.content_type, seq, number)
    if not media.is_image:
        name += f": {quoted(media.content_type)}"
    return f"[{name}: {quoted(media.description)}]" if media.description else f"[{name}]"


def _kind(message: Message) -> str:
    """Return the kind of a keyword or notice in brackets; '' for a text or a question."""
    return "" if message.kind in {"text", "team", "choice"} else f"[{message.kind}] "


def ago(span: timedelta) -> str:
    """Format how long ago something was: in minutes, in hours up to 47, or in days."""
    minutes = int(span.total_seconds()) // 60
    if minutes < 1:
        return "just now"
    if minutes < MINUTES_PER_HOUR:
        return f"{minutes} min ago"
    hours = minutes // MINUTES_PER_HOUR
    return f"{hours} h ago" if hours < SHOWN_HOURS else f"{hours // HOURS_PER_DAY} days ago"
