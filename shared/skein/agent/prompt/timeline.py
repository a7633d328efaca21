"""The entries of a history, as lines of a timeline or as turns.

A person's text cannot leave its own entry (docs/security.md, "Entries of a prompt"). In a timeline,
texts and names are JSON strings without any line break, and nothing else in a line comes from a
person. As roles, further lines of a message stand behind a bar.
"""

from skein.models.chats.chat import Message
from skein.models.common.audience import Audience, may_show
from skein.models.common.base import MemberRef, NamedMember
from skein.models.runs.trigger import Resume
from skein.services.common.quoting import (
    bracket_lines_behind_bars,
    bracketed,
    further_lines_behind_bars,
    label,
    quoted,
    quoted_id,
    time_of,
)

TRIGGER_LABEL = "\u2190 TRIGGER"
RESUME_LABEL = "\u2190 RESUME"


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
    """Render a message as one line of the timeline.

    Args:
        message: The message.
        text: The text to show, which the budget may have cut.
        agent: The agent that reads the prompt. Its own entries say `You`.
        seen_seq: The SEEN watermark of the agent in the chat.
        trigger_seq: The seq of the trigger's message; None if it is not in this chat.
        resumed: How the run's newest wait in this chat ended.
        destination: The readers of the active chat, who decide whether an origin may be shown.
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
        line += f" {TRIGGER_LABEL}"
    if resumed is not None and resumed.seq == message.seq:
        line += f" {RESUME_LABEL}"
    if resumed is not None and resumed.status == "timeout" and resumed.asked_seq == message.seq:
        line += f" {RESUME_LABEL} (timeout)"
    return f"  {line}"


def turn_text(message: Message, text: str, *, agent: MemberRef, destination: Audience) -> str:
    """Render a message as a turn of its own, for a history as roles.

    A turn of another member names the sender in brackets, which the name cannot close. Further
    lines of the message stand behind a bar, so that no line can imitate another entry.

    The agent's own text stays unchanged, because the agent would imitate any marks in it. Only
    lines that begin with a bracket, as entries and notes do, stand behind a bar. A note states the
    origin of a message that was requested in another chat.
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
    """Return a member's name, kind and id: `Husam (human, id:usr_1)`; `gap` precedes the id."""
    kind = "human" if member.kind == "user" else "agent"
    return f"{label(member.name)} ({kind}, id:{gap}{quoted_id(member.id)})"


def origin_of(message: Message, *, agent: MemberRef, destination: Audience) -> str:
    """Return a note on the origin of the agent's message, if showable; else ''."""
    origin = message.origin
    if origin is None or message.sender.ref != agent or not may_show(origin.audience, destination):
        return ""
    return (
        f"[sent because {label(origin.asked_by)} asked {quoted(origin.text)}"
        f" in {quoted(origin.chat_title)}] "
    )


def attached(message: Message) -> str:
    """Return a note for each media attachment of a message."""
    return "".join(f" [attached: {quoted(media.content_type)}]" for media in message.media)


def _kind(message: Message) -> str:
    """Return the kind of a keyword or notice in brackets; '' for a text."""
    return "" if message.kind == "text" else f"[{message.kind}] "
