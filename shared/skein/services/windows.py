"""Which of a chat's messages a prompt holds, and the summary that stands for those before."""

from skein.models.chat import Chat
from skein.models.summary import PinnedSummary, Summary
from skein.services.effective import effective_in
from skein.settings import Settings

MOST_WINDOWS = 2  # how many windows of messages a prompt holds while it waits for a summary


def window_of(chat: Chat, settings: Settings) -> int:
    """How many of a chat's newest messages a prompt may hold."""
    return effective_in(chat, settings).message_history_limit


def window_start(last_seq: int, window: int) -> int:
    """The first message of a window of at most `window` messages that ends with `last_seq`.

    It moves in blocks of half a window, and so holds at least half of it: between two moves the
    prompts of consecutive turns begin alike, and a provider's prefix cache can serve them.
    """
    block = max(window // 2, 1)
    over = max(last_seq - window, 0)
    return -(-over // block) * block + 1


def shown_from(chat: Chat, before: PinnedSummary | None, settings: Settings) -> int:
    """The first message that a prompt shows, if `before` is the summary that it shows.

    The window does not pass what that summary covers, so that no message is in neither. Where the
    summary stays behind, it goes on without it once it would hold twice as many as it should.
    """
    start, most = before.start if before else 1, MOST_WINDOWS * window_of(chat, settings)
    return start if chat.last_seq - start < most else window_start(chat.last_seq, most)


def pinned(chat: Chat, record: Summary | None, settings: Settings) -> PinnedSummary | None:
    """The summary that prompts show from now on: a new one only where the window can move on.

    So between two moves neither of them changes.
    """
    start = window_start(chat.last_seq, window_of(chat, settings))
    current = chat.pinned
    if record is None or start == 1 or record.seq < start - 1:
        return current
    if current is not None and current.start == start and current.from_seq == record.from_seq:
        return current
    return PinnedSummary(
        text=record.text,
        seq=record.seq,
        start=start,
        from_seq=record.from_seq,
        audience=record.audience,
    )
