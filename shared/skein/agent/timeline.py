"""The history as a chronological timeline: who said what and when, and what of it is new.

Whatever a person typed stays inside its own quoted entry (DESIGN section 5, invariant 11): text and
names are JSON strings without a line break of any kind, and nothing else on a line is theirs.
"""

from skein.models.audience import Audience, may_show
from skein.models.base import MemberRef, NamedMember
from skein.models.chat import Message
from skein.models.trigger import Resume
from skein.services.quoting import bracketed, label, quoted, quoted_id, time_of

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
    """What one message says where the history stands as roles: a turn of its own.

    Others are named in brackets, which their names cannot close; the agent's own words stand as
    they were, but for a note of why they were said, where that was asked elsewhere.
    """
    text = f"{_kind(message)}{text}"
    media = " ".join(f"[attached: {media.content_type}]" for media in message.media)
    words = " ".join(part for part in (text, media) if part)
    if message.sender.ref == agent:
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
