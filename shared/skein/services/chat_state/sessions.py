"""Where a session of a direct chat begins, and what that means for all that is derived from it."""

from datetime import timedelta

from skein.models.chat import Chat, Membership, Message
from skein.models.overrides import ChatOverrides
from skein.models.session import Session
from skein.ports import Ids, Table
from skein.services.chat_state.audience import everybody_since
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.config.resolution import EffectiveSettings, effective_in, read_overrides
from skein.settings import Settings

CLOSING = " \t\r\n.,;:!?\u2026\u3002\uff01\uff1f"  # the last three: an ideographic stop, ! and ?


def brought_up(
    table: Table, snapshot: ChatSnapshot, sender: Membership, said: ChatOverrides | None
) -> ChatSnapshot:
    """The room with the settings that a person's message in a direct chat brings along.

    Args:
        table: Where they are read, if they have not been.
        snapshot: As it was read.
        sender: Whose message it is; an agent's brings nothing.
        said: What the agent, the line and the tenant say, where that is known.
    """
    if snapshot.chat.kind != "direct" or sender.member.kind != "user":
        return snapshot
    said = said if said is not None else read_overrides(table, snapshot.chat)
    kept = said if said.said else None
    return snapshot._replace(chat=snapshot.chat.model_copy(update={"overrides": kept}))


def message_in_session(message: Message, chat: Chat, settings: Settings) -> Message:
    """The message, marked if it asks to start anew.

    That is a person's whole text in a direct chat, if it is one of the phrases that hold there;
    case, white space and closing punctuation do not matter.
    """
    personal = chat.kind == "direct" and message.sender.kind == "user" and message.kind == "text"
    if not personal:
        return message
    said = _plain(message.text)
    phrases = map(_plain, effective_in(chat, settings).context_reset_phrases)
    return message.model_copy(update={"resets": said != "" and said in phrases})


def _plain(text: str) -> str:
    return " ".join(text.rstrip(CLOSING).split()).casefold()


def session_with(
    chat: Chat, message: Message, effective: EffectiveSettings, ids: Ids
) -> Session | None:
    """The session that `message` belongs to, which it may begin; None in a group.

    A gap of exactly the setting's length begins one.

    Args:
        chat: As it was before the message.
        message: Numbered, and dated.
        effective: What holds in the chat.
        ids: Where a new session's id comes from.
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
    )


def first_of_session(chat: Chat) -> int:
    """The first message of a chat's session; a group is one session."""
    return chat.session.first_seq if chat.session is not None else 1


def reset_in(chat: Chat) -> int:
    """The newest message by which somebody began anew; 0 if nobody ever did."""
    return chat.session.reset_seq if chat.session is not None else 0


def summed_up_from(chat: Chat) -> int:
    """The first message that a summary of the chat may rest on."""
    return max(everybody_since(chat), reset_in(chat))
