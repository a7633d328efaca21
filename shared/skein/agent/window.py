"""Which of a chat's messages a prompt may hold."""

from skein.models.chat import Chat
from skein.settings import Settings


def window_of(chat: Chat, settings: Settings) -> int:
    """How many of a chat's newest messages a prompt may hold."""
    return settings.direct_history_window if chat.kind == "direct" else settings.history_window


def window_start(last_seq: int, window: int) -> int:
    """The first message of a window of at most `window` messages that ends with `last_seq`.

    It moves in blocks of half a window, and so holds at least half of it: between two moves the
    prompts of consecutive turns begin alike, and a provider's prefix cache can serve them.
    """
    block = max(window // 2, 1)
    over = max(last_seq - window, 0)
    return -(-over // block) * block + 1
