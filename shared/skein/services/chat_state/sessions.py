"""Find where a session of a direct chat begins, and which messages summaries may cover."""

from datetime import timedelta

from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.chats.session import Session
from skein.models.config.overrides import ChatSettings, Overrides, Retention
from skein.ports import Ids, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.config.resolution import effective_in, read_overrides
from skein.services.config.retention import retention_of
from skein.services.visibility.audience import everybody_since
from skein.settings import Settings

CLOSING = " \t\r\n.,;:!?\u2026\u3002\uff01\uff1f"  # the last three: an ideographic stop, ! and ?


def with_current_overrides(
    table: Table, snapshot: ChatSnapshot, sender: Membership, overrides: Overrides | None
) -> ChatSnapshot:
    """Return the snapshot with current overrides and retention, if a person posts in a direct chat.

    In a group, or if an agent posts, the snapshot is returned unchanged.

    Args:
        table: The table; read only if `overrides` is None.
        snapshot: The chat as it was read.
        sender: The sender's membership.
        overrides: The overrides of the agent, the line and the tenant, if they have been read.
    """
    if snapshot.chat.kind != "direct" or sender.member.kind != "user":
        return snapshot
    overrides = overrides if overrides is not None else read_overrides(table, snapshot.chat)
    kept = {name: value for name, value in overrides.items() if name not in Retention.model_fields}
    chat = snapshot.chat.model_copy(
        update={"overrides": kept or None, "retention": retention_of(overrides)}
    )
    return snapshot._replace(chat=chat)


def message_in_session(message: Message, chat: Chat, settings: Settings) -> Message:
    """Return the message, marked as a reset if the text is a reset phrase.

    Only a person's message in a direct chat can be a reset. The whole text must equal one of the
    chat's `context_reset_phrases`, apart from case, white space and closing punctuation. Answers to
    choices and texts that an agent proposed are never resets.
    """
    personal = chat.kind == "direct" and message.sender.kind == "user" and message.kind == "text"
    if not personal or message.answers is not None or message.via is not None:
        return message
    plain = _plain(message.text)
    phrases = map(_plain, effective_in(chat, settings).context_reset_phrases)
    return message.model_copy(update={"resets": plain != "" and plain in phrases})


def _plain(text: str) -> str:
    return " ".join(text.rstrip(CLOSING).split()).casefold()


def session_with(chat: Chat, message: Message, effective: ChatSettings, ids: Ids) -> Session | None:
    """Return the session that `message` belongs to or begins; None in a group.

    A message begins a session if it is a reset, or if it comes after a gap of at least
    `conversation_gap_minutes`.

    Args:
        chat: The chat before the message.
        message: The message, with its seq and its time.
        effective: The effective settings of the chat.
    """
    if chat.kind != "direct":
        return None
    current, last_at = chat.session, chat.last_message_at
    gap = timedelta(minutes=effective.conversation_gap_minutes)
    silent = last_at is not None and message.created_at - last_at >= gap
    if current is not None and not silent and not message.resets:
        return current
    earlier = current.reset_seq if current is not None else 0
    return Session(
        id=f"ses_{ids.ulid()}",
        started_at=message.created_at,
        first_seq=message.seq,
        reset=message.resets,
        reset_seq=message.seq if message.resets else earlier,
        before_at=last_at,
        earlier_reset_at=current.reset_at if current is not None else None,
    )


def first_of_session(chat: Chat) -> int:
    """Return the seq of the first message of the session; a group is one session."""
    return chat.session.first_seq if chat.session is not None else 1


def reset_in(chat: Chat) -> int:
    """Return the seq of the newest reset in a chat; 0 if the chat was never reset."""
    return chat.session.reset_seq if chat.session is not None else 0


def first_to_summarize(chat: Chat) -> int:
    """Return the seq of the first message that a summary of the chat may use."""
    return max(everybody_since(chat), reset_in(chat))
