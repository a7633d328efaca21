"""Compute a prompt's history window, and the chat summary for the messages before the window."""

from skein.models.chats.chat import Chat
from skein.models.chats.summary import PinnedSummary, Summary
from skein.services.chat_state.sessions import first_of_session
from skein.services.config.resolution import effective_in
from skein.settings import Settings

MAX_WINDOWS = 2  # if the summary is late, a prompt shows up to this many windows of messages
STAYING_SHARE = 3  # when the start of a window moves, one third of the window stays,
MIN_STAYING = 3  # and at least this many messages


def window_of(chat: Chat, settings: Settings) -> int:
    """Return the maximum number of messages in the history window."""
    return effective_in(chat, settings).message_history_limit


def block_of(window: int) -> int:
    """Return how many messages the start of a window advances in one move."""
    return max(window - max(window // STAYING_SHARE, MIN_STAYING), 1)


def window_start(last_seq: int, window: int, first: int = 1, *, block: int | None = None) -> int:
    """Return the seq of the first message in a history window that ends with `last_seq`.

    The start moves in blocks. Between two moves, the prompts of consecutive runs have the same
    beginning, so a provider's prefix cache can serve them. A move drops two thirds of the window at
    once. This balances two costs. The first prompt after a move pays the full price for the
    messages that stay. Each further prompt pays the lower price of cached text for all messages
    that it shows.

    Args:
        last_seq: The seq of the newest message.
        window: The maximum number of messages in the window.
        first: The first message of the session; no window begins before this message.
        block: How many messages the start advances in one move; by default `block_of(window)`.
    """
    block = block or block_of(window)
    over = max(last_seq - first + 1 - window, 0)
    return -(-over // block) * block + first


def shown_from(chat: Chat, before: PinnedSummary | None, settings: Settings) -> int:
    """Return the seq of the first message that a prompt shows.

    The window begins right after the messages that the pinned summary covers, or earlier in the
    same session, so every message is in the summary or in the window. There is one exception: while
    no newer summary gets written, the window grows, up to twice its size. Beyond that, its oldest
    messages are left out, although no summary covers them.

    Args:
        before: The pinned summary that the prompt shows, if any.
    """
    first, window = first_of_session(chat), window_of(chat, settings)
    start, most = max(before.start if before else first, first), MAX_WINDOWS * window
    if chat.last_seq - start < most:
        return start
    return window_start(chat.last_seq, most, first, block=window)


def pinned(chat: Chat, summary: Summary | None, settings: Settings) -> PinnedSummary | None:
    """Return the chat summary that prompts show from now on.

    The pinned summary changes only when the window can move. Between two moves, the summary and the
    start of the window stay the same. A new session is an exception: at first, prompts show the
    newest summary of the messages before the session. As soon as a newer summary covers more of the
    messages before the session, it becomes the pinned summary.
    """
    current = chat.pinned
    if summary is None:
        return current
    first = first_of_session(chat)
    start = window_start(chat.last_seq, window_of(chat, settings), first)
    if start == 1:
        return current
    earlier = first > 1 and (current is None or current.start < first)
    fuller = first > 1 and current is not None and current.seq < min(first - 1, summary.seq)
    if summary.seq >= start - 1:
        same = current is not None and (current.start, current.from_seq) == (
            start,
            summary.from_seq,
        )
        if same and not fuller:
            return current
    elif earlier or fuller:
        start = max(current.start, first) if current is not None else first
    else:
        return current
    return pin_of(summary, start)


def pin_of(summary: Summary, start: int) -> PinnedSummary:
    """Build the pinned summary of a window that begins with message `start`."""
    return PinnedSummary(
        text=summary.text,
        seq=summary.seq,
        start=start,
        from_seq=summary.from_seq,
        audience=summary.audience,
        authors=summary.authors,
    )
