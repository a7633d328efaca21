"""Fits a conversation into a number of tokens, in a fixed order of cuts.

Oldest messages go first, then long ones are cut with a visible mark, the current one only if it
alone is too long (DESIGN section 6). The last two messages and the current one always stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skein.ports import TokenCounter

LAST_THAT_STAY = 2
MESSAGE_OVERHEAD_TOKENS = 4  # what a chat completion adds to each message for its role


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the conversation as the prompt will show it.

    Attributes:
        seq: Its number in the chat.
        text: What is shown of it.
        tokens: The size of `text`, without the overhead of a message.
        own: Whether the agent said it itself.
        current: Whether it is the message that is to be answered.
    """

    seq: int
    text: str
    tokens: int
    own: bool = False
    current: bool = False

    @property
    def cost(self) -> int:
        """What it takes from the budget."""
        return self.tokens + MESSAGE_OVERHEAD_TOKENS


def total(entries: Sequence[Entry]) -> int:
    """What `entries` take from the budget together."""
    return sum(entry.cost for entry in entries)


def fit(entries: Sequence[Entry], limit: int, counter: TokenCounter) -> tuple[Entry, ...]:
    """Cut a conversation down to `limit` tokens.

    Args:
        entries: In order of `seq`; at most one is current.
        limit: At least a few dozen tokens; below that, messages shrink to their cut marks.
        counter: Counts exactly.

    Returns:
        What is left, in the same order. Within the limit nothing is touched, so fitting twice is
        fitting once.
    """
    kept = _without_oldest(list(entries), limit)
    if total(kept) <= limit:
        return tuple(kept)
    current = next((entry for entry in kept if entry.current), None)
    others = [entry for entry in kept if entry is not current]
    room = limit - MESSAGE_OVERHEAD_TOKENS * len(kept)
    if current is None:
        return tuple(_capped(kept, room, counter))
    share = max(room - current.tokens, min(room // 4, sum(entry.tokens for entry in others)))
    shorter = {entry.seq: entry for entry in _capped(others, share, counter)}
    rest = room - sum(entry.tokens for entry in shorter.values())
    shorter[current.seq] = _cut(current, max(rest, 0), counter)
    return tuple(shorter[entry.seq] for entry in kept)


def _without_oldest(entries: list[Entry], limit: int) -> list[Entry]:
    """Drop from the front while too much is left; the last two and the current one stay."""
    size = total(entries)
    staying = {entry.seq for entry in entries[-LAST_THAT_STAY:]}
    kept = []
    for entry in entries:
        if size > limit and not entry.current and entry.seq not in staying:
            size -= entry.cost
        else:
            kept.append(entry)
    return kept


def _capped(entries: Sequence[Entry], room: int, counter: TokenCounter) -> list[Entry]:
    """Cut the longest entries to one common size, so that together they are at most `room`."""
    left, cap = room, 0
    for position, tokens in enumerate(sorted(entry.tokens for entry in entries)):
        cap = max(left, 0) // (len(entries) - position)
        if tokens > cap:
            break
        left -= tokens
    else:
        return list(entries)
    return [_cut(entry, cap, counter) if entry.tokens > cap else entry for entry in entries]


def _cut(entry: Entry, tokens: int, counter: TokenCounter) -> Entry:
    """The entry in at most `tokens` tokens, saying how much of it is missing."""
    if entry.tokens <= tokens:
        return entry
    allowed = tokens
    while True:
        head = counter.cut(entry.text, max(allowed, 0)).rstrip()
        text = f"{head} [{len(entry.text) - len(head):,} characters cut]".strip()
        size = counter.count(text)
        if size <= tokens or allowed <= 0:
            break
        allowed -= size - tokens
    if size > tokens:
        text = counter.cut(text, max(tokens, 0))
        size = counter.count(text)
    return replace(entry, text=text, tokens=size)
