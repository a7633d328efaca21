"""Return the titles of chats, as far as they may be shown."""

from skein.models.audience import Audience, may_show
from skein.models.chat import Chat

UNTOLD = "a conversation"


def title_of(chat: Chat) -> str:
    """The chat's title, or what stands for one."""
    return chat.title or "New Conversation"


def titled_for(chat: Chat, place: Audience, *, known: str | None = None) -> Chat:
    """Return the chat with a title that may be shown at a place.

    A chat's title may be shown to those who read the chat now. Someone who has left it may have
    missed a new title, even where they may be shown what was said before.

    Args:
        chat: As it is now.
        place: Who will be shown the title.
        known: A title that all of them know.
    """
    if may_show(chat.readers, place):
        return chat
    return chat.model_copy(update={"title": known or UNTOLD})
