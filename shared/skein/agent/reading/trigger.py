"""The trigger of a run: the keys to read, and its chat and message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skein.models.chats.chat import Chat, Message
from skein.models.common.audience import may_show
from skein.models.common.storage import Item, Key
from skein.models.runs.run import Run
from skein.services.chat_state.audience import destination_of


@dataclass(frozen=True, slots=True)
class ShownTrigger:
    """The trigger of a run, as far as readers of the active chat may know.

    Attributes:
        home: The chat that the run belongs to, if the trigger may be shown.
        message: The message that triggered the run, if the trigger may be shown.
        may_be_shown: Whether the trigger may be shown. A run that waited in another chat hides its
            trigger from readers who were not present for it.
    """

    home: Chat | None = None
    message: Message | None = None
    may_be_shown: bool = True


def current_seq(run: Run, chat: Chat | None) -> int | None:
    """Return the seq of the message to answer.

    This is the reply that ended the run's wait in this chat, or else the trigger's message.

    Returns:
        The seq; None if the run answers no message in this chat, for example after a wait timed
        out.
    """
    if chat is None:
        return None
    if run.resumed is not None and run.resumed.chat_id == chat.id:
        return run.resumed.seq
    return run.trigger.seq if chat.id == run.chat_id else None


def keys_of_trigger(run: Run, chat: Chat | None, messages: Sequence[Message]) -> list[Key]:
    """Return the keys of the trigger's chat and message, except those already read."""
    home_id = run.own_chat_id
    if home_id is None:
        return []
    here = chat is not None and chat.id == home_id
    keys = [] if here else [Chat.key_of(run.tenant, home_id)]
    seq = run.trigger.seq
    if seq is not None and not (here and any(message.seq == seq for message in messages)):
        keys.append(Message.key_of(run.tenant, home_id, seq))
    return keys


def shown_trigger(
    run: Run, chat: Chat | None, home: Chat | None, message: Message | None
) -> ShownTrigger:
    """Return the trigger as far as it may be shown.

    Args:
        chat: The active chat.
        home: The chat that the run belongs to, if it exists.
        message: The message that triggered the run, if it exists.
    """
    readers = destination_of(chat)
    if home is not chat and not may_show(run.audience, readers):
        return ShownTrigger(may_be_shown=False)
    if home is not None and home is not chat:
        home = home.titled_for(readers)
    return ShownTrigger(home=home, message=message)


def found_trigger(
    run: Run, chat: Chat | None, messages: Sequence[Message], found: Mapping[Key, Item]
) -> tuple[Chat | None, Message | None]:
    """Return the chat and the message that triggered the run, from all that was read."""
    home_id = run.own_chat_id
    if home_id is None:
        return None, None
    home = chat
    if chat is None or chat.id != home_id:
        item = found.get(Chat.key_of(run.tenant, home_id))
        home = Chat.from_item(item) if item else None
        messages = ()
    seq = run.trigger.seq
    if seq is None:
        return home, None
    item = found.get(Message.key_of(run.tenant, home_id, seq))
    read = Message.from_item(item) if item else None
    if read is not None and home is not None:
        read = home.as_now(read)
    return home, next((message for message in messages if message.seq == seq), read)
