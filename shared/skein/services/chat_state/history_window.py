"""Which of a chat's messages a prompt holds, and the summary that stands for those before."""

from skein.models.chat import Chat
from skein.models.summary import PinnedSummary, Summary
from skein.services.chat_state.sessions import first_of_session
from skein.services.config.resolution import effective_in
from skein.settings import Settings

MAX_WINDOWS = 2  # how many windows of messages a prompt holds while it waits for a summary
STAYING_SHARE = 3  # a third of a window stays when its start moves on,
MIN_STAYING = 3  # and no fewer messages than these


def window_of(chat: Chat, settings: Settings) -> int:
    """How many of a chat's newest messages a prompt may hold."""
    return effective_in(chat, settings).message_history_limit


def block_of(window: int) -> int:
    """By how many messages the start of a window moves on at once."""
    return max(window - max(window // STAYING_SHARE, MIN_STAYING), 1)


def window_start(last_seq: int, window: int, first: int = 1, *, block: int | None = None) -> int:
    """The first message of a window of at most `window` messages that ends with `last_seq`.

    It moves in blocks, and between two moves the prompts of consecutive turns begin alike, so that
    a provider's prefix cache can serve them. What stays at a move is charged anew, and what is
    shown is charged each time, if for less: that is why two thirds of it go at once.

    Args:
        last_seq: The newest message.
        window: How many messages there may be.
        first: The first message of the session, before which no window begins.
        block: By how many messages it moves; `block_of` the window, if not given.
    """
    block = block or block_of(window)
    over = max(last_seq - first + 1 - window, 0)
    return -(-over // block) * block + first


def shown_from(chat: Chat, before: PinnedSummary | None, settings: Settings) -> int:
    """The first message that a prompt shows, if `before` is the summary that it shows.

    Within the session, the window does not pass what that summary covers, so that no message is in
    neither. Where the summary stays behind, it goes on without it once it would hold twice as many
    as it should; nothing stands for what it leaves then, so a whole window stays.
    """
    first, window = first_of_session(chat), window_of(chat, settings)
    start, most = max(before.start if before else first, first), MAX_WINDOWS * window
    if chat.last_seq - start < most:
        return start
    return window_start(chat.last_seq, most, first, block=window)


def pinned(chat: Chat, record: Summary | None, settings: Settings) -> PinnedSummary | None:
    """The summary that prompts show from now on: a new one only where the window can move on.

    So between two moves neither of them changes. A session begins with whatever summary there is of
    what was said before; a fuller one takes its place when it is made.
    """
    first = first_of_session(chat)
    start = window_start(chat.last_seq, window_of(chat, settings), first)
    current = chat.pinned
    if record is None or start == 1:
        return current
    earlier = first > 1 and (current is None or current.start < first)
    fuller = first > 1 and current is not None and current.seq < min(first - 1, record.seq)
    if record.seq >= start - 1:
        same = current is not None and (current.start, current.from_seq) == (start, record.from_seq)
        if same and not fuller:
            return current
    elif earlier or fuller:
        start = max(current.start, first) if current is not None else first
    else:
        return current
    return pin_of(record, start)


def pin_of(record: Summary, start: int) -> PinnedSummary:
    """A summary as prompts show it, before a window that begins with `start`."""
    return PinnedSummary(
        text=record.text,
        seq=record.seq,
        start=start,
        from_seq=record.from_seq,
        audience=record.audience,
    )
