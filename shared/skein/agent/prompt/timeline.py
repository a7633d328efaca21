"""The history as a chronological timeline: who said what and when, and what of it is new.

Everything that a person typed stays inside its own entry (DESIGN section 5, invariant 11). In a
timeline, text and names are JSON strings without a line break of any kind, and nothing else on a
line is theirs. As roles, further lines of a message stand behind a bar.
"""

from skein.models.audience import Audience, may_show
from skein.models.base import MemberRef, NamedMember
from skein.models.chat import Message
from skein.models.trigger import Resume
from skein.services.common.quoting import (
    bracket_lines_behind_bars,
    bracketed,
    further_lines_behind_bars,
    label,
    quoted,
    quoted_id,
    time_of,
)

TRIGGER_MARK = "\u2190 TRIGGER"
RESUME_MARK = "\u2190 RESUME"


def timeline_entry(
    message: Message,
    text: str,
    *,
    agent: MemberRef,
    seen_seq: int,
    trigger_seq: int | None,
    resumed: Resume | None,
    destination: Audience,
) -> str:
    """One line of the timeline.

    Args:
        message: What was said.
        text: What is shown of it, which a budget may have cut.
        agent: Who reads; its own entries say `You`.
        seen_seq: Up to where it has been shown the chat before.
        trigger_seq: The message that woke it.
        resumed: How its newest wait in this chat ended.
        destination: Who is there now, which decides whether an origin may be told.
    """
    own = message.sender.ref == agent
    speaker = "You" if own else named(message.sender)
    reply = f" (reply to msg:{message.reply_to})" if message.reply_to is not None else ""
    said = quoted(text)
    if own and message.expects_reply:
        said = f"called send_message({said}, wait: true)"
    seen = "[SEEN]" if own or message.seq <= seen_seq else "[NEW]"
    line = (
        f"[msg:{message.seq}] [{time_of(message.created_at)}] {speaker}{reply}: {_kind(message)}"
        f"{origin_of(message, agent=agent, destination=destination)}{said}{attached(message)}  "
        f"{seen}"
    )
    if message.seq == trigger_seq:
        line += f" {TRIGGER_MARK}"
    if resumed is not None and resumed.seq == message.seq:
        line += f" {RESUME_MARK}"
    if resumed is not None and resumed.status == "timeout" and resumed.asked_seq == message.seq:
        line += f" {RESUME_MARK} (timeout)"
    return f"  {line}"


def turn_text(message: Message, text: str, *, agent: MemberRef, destination: Audience) -> str:
    """Render one message as a turn of its own, for a history that stands as roles.

    A turn of others names its sender in brackets, which the name cannot close. Further lines of the
    message stand behind a bar, so that none of them can look like another entry.

    The agent's own words stand as they were, since it would imitate marks that it sees there. Only
    a line that begins with a bracket, as entries and notes do, stands behind a bar. A note says why
    the words were said, where that was asked elsewhere.
    """
    own = message.sender.ref == agent
    said = bracket_lines_behind_bars(text) if own else further_lines_behind_bars(text)
    media = attached(message).removeprefix(" ")
    words = _kind(message) + " ".join(part for part in (said, media) if part)
    if own:
        return f"{origin_of(message, agent=agent, destination=destination)}{words}"
    kind = "human" if message.sender.kind == "user" else "agent"
    return f"[{bracketed(message.sender.name)} ({kind})] {words}"


def named(member: NamedMember, *, gap: str = "") -> str:
    """Who somebody is: `Husam (human, id:usr_1)`; `gap` stands before the id."""
    kind = "human" if member.kind == "user" else "agent"
    return f"{label(member.name)} ({kind}, id:{gap}{quoted_id(member.id)})"


def origin_of(message: Message, *, agent: MemberRef, destination: Audience) -> str:
    """Why the agent said this here, where it was asked elsewhere and that may be told; or ''."""
    origin = message.origin
    if origin is None or message.sender.ref != agent or not may_show(origin.audience, destination):
        return ""
    return (
        f"[sent because {label(origin.asked_by)} asked {quoted(origin.text)}"
        f" in {quoted(origin.chat_title)}] "
    )


def attached(message: Message) -> str:
    """A word for each thing that came with a message."""
    return "".join(f" [attached: {quoted(media.content_type)}]" for media in message.media)


def _kind(message: Message) -> str:
    """A word for what is neither a person's nor the model's own: keywords and notices."""
    return "" if message.kind == "text" else f"[{message.kind}] "
