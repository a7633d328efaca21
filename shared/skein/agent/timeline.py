"""The history as a chronological timeline: who said what and when, and what of it is new.

Whatever a person typed stays inside its own quoted entry (DESIGN section 5, invariant 11): text and
names are JSON strings without a line break of any kind, and nothing else on a line is theirs.
"""

from skein.agent.quoting import label, quoted
from skein.models.audience import Audience, may_show
from skein.models.base import MemberRef, rfc3339
from skein.models.chat import Message
from skein.models.trigger import Resume

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
    seen = "[SEEN]" if own or message.seq <= seen_seq else "[NEW]"
    reply = f" (reply to msg:{message.reply_to})" if message.reply_to is not None else ""
    waited = " (waiting for a reply)" if own and message.expects_reply else ""
    line = (
        f"[msg:{message.seq}] [{rfc3339(message.created_at)}] {_speaker(message, own=own)}"
        f"{reply}{waited}{_why(message, own=own, destination=destination)}: "
        f"{quoted(text)}{_attached(message)}  {seen}"
    )
    if message.seq == trigger_seq:
        line += f" {TRIGGER_MARK}"
    if resumed is not None and resumed.seq == message.seq:
        line += f" {RESUME_MARK}"
    return f"  {line}"


def _speaker(message: Message, *, own: bool) -> str:
    if own:
        return "You"
    kind = "human" if message.sender.kind == "user" else "agent"
    return f"{label(message.sender.name)} ({kind}, id:{quoted_id(message.sender.id)})"


def _why(message: Message, *, own: bool, destination: Audience) -> str:
    """Why the agent said this here, where it was asked elsewhere and that may be told."""
    origin = message.origin
    if origin is None or not own or not may_show(origin.audience, destination):
        return ""
    return (
        f" [sent because {label(origin.asked_by)} asked {quoted(origin.text)}"
        f" in {quoted(origin.chat_title)}]"
    )


def _attached(message: Message) -> str:
    return "".join(f" [attached: {quoted(media.content_type)}]" for media in message.media)


def quoted_id(identifier: str) -> str:
    """An id as it is, or as a JSON string if it holds anything but plain characters."""
    plain = identifier.replace("_", "").replace("-", "").replace("|", "").replace("@", "")
    plain = plain.replace(".", "")
    return identifier if plain.isascii() and plain.isalnum() else quoted(identifier)
