"""What a chat is called where it must be called something."""

from skein.models.chat import Chat


def title_of(chat: Chat) -> str:
    """The chat's title, or what stands for one."""
    return chat.title or "New Conversation"
