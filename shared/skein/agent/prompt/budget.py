"""Fits a conversation into a number of tokens, in a fixed order of cuts.

Oldest messages go first, then long ones are cut with a visible mark, the current one only if it
alone is too long (DESIGN section 6). The last two messages and the current one always stay. For the
middle, between what a summary covers and what is left, the newest stored summary stands; which that
is, and that it is never made while a person waits, is the caller's to see to.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from skein.ports import TokenCounter

LAST_THAT_STAY = 2
MESSAGE_OVERHEAD_TOKENS = 4  # what a chat completion adds to each message for its role


Frame = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the conversation as the prompt will show it.

    Attributes:
        seq: Its number in the chat.
        text: What is shown of what was said.
        tokens: The size of the framed text, without the overhead of a message.
        frame: Puts `text` into the words that stand around it in the prompt.
        own: Whether the agent said it itself.
        current: Whether it is the message that is to be answered.
        overhead: What it takes besides, where it is a message of its own.
    """

    seq: int
    text: str
    tokens: int
    frame: Frame = field(default=str, compare=False)
    own: bool = False
    current: bool = False
    overhead: int = MESSAGE_OVERHEAD_TOKENS

    @property
    def line(self) -> str:
        """What stands in the prompt."""
        return self.frame(self.text)

    @property
    def cost(self) -> int:
        """What it takes from the budget."""
        return self.tokens + self.overhead


def counted(
    seq: int,
    text: str,
    counter: TokenCounter,
    *,
    frame: Frame = str,
    own: bool = False,
    current: bool = False,
    overhead: int = MESSAGE_OVERHEAD_TOKENS,
) -> Entry:
    """An entry, counted."""
    return Entry(seq, text, counter.count(frame(text)), frame, own, current, overhead)


def total(entries: Sequence[Entry]) -> int:
    """What `entries` take from the budget together."""
    return sum(entry.cost for entry in entries)


def fit(
    entries: Sequence[Entry], limit: int, counter: TokenCounter, *, block: int = 1
) -> tuple[Entry, ...]:
    """Cut a conversation down to `limit` tokens.

    Args:
        entries: In order of `seq`; at most one is current.
        limit: At least a few dozen tokens; below that, messages shrink to their cut marks.
        counter: Counts exactly.
        block: By how many messages the beginning moves on, where that leaves enough.

    Returns:
        What is left, in the same order. Within the limit nothing is touched, so fitting twice is
        fitting once.
    """
    kept = _without_oldest(entries, limit, block)
    if total(kept) <= limit:
        return tuple(kept)
    current = next((entry for entry in kept if entry.current), None)
    others = [entry for entry in kept if entry is not current]
    room = limit - sum(entry.overhead for entry in kept)
    if current is None:
        return tuple(_capped(kept, room, counter))
    share = max(room - current.tokens, min(room // 4, sum(entry.tokens for entry in others)))
    shorter = {entry.seq: entry for entry in _capped(others, share, counter)}
    rest = room - sum(entry.tokens for entry in shorter.values())
    shorter[current.seq] = _cut(current, max(rest, 0), counter)
    return tuple(shorter[entry.seq] for entry in kept)


def left_out(entries: Sequence[Entry], shown: Sequence[Entry]) -> int:
    """The newest message that is not shown, for which a summary may stand; 0 if all are."""
    kept = {entry.seq for entry in shown}
    return max((entry.seq for entry in entries if entry.seq not in kept), default=0)


def shortened(text: str, frame: Frame, limit: int, counter: TokenCounter) -> str:
    """What of `text` may be shown so that in its frame it takes at most `limit` tokens.

    What is missing is said in its place. The frame is never cut, so nothing becomes smaller than
    that.
    """
    if counter.count(frame(text)) <= limit:
        return text
    bare = counter.count(frame(""))
    allowed, head = limit - bare, text
    while allowed > 0:
        head = counter.cut(head, allowed).rstrip()
        shown = f"{head} {_mark(text, head)}".strip()
        over = counter.count(frame(shown)) - limit
        if over <= 0:
            return shown
        allowed -= over
    shown = counter.cut(_mark(text, ""), max(limit - bare - 1, 0))
    return shown if counter.count(frame(shown)) <= limit else ""


def _without_oldest(entries: Sequence[Entry], limit: int, block: int) -> list[Entry]:
    """Drop from the front while too much is left; the last two and the current one stay.

    Block by block, so that the beginning stays put for a while and consecutive prompts begin
    alike; one by one where blocks would leave less than half of the limit.
    """
    size = total(entries)
    if size <= limit:
        return list(entries)
    kept: list[Entry] = []
    for step in _halves(block):
        kept = _from_start(entries, limit, step)
        if total(kept) * 2 >= limit:
            break
    return kept


def _halves(block: int) -> Iterator[int]:
    while block > 1:
        yield block
        block //= 2
    yield 1


def _from_start(entries: Sequence[Entry], limit: int, step: int) -> list[Entry]:
    """The entries from the first multiple of `step` on that leaves no more than `limit`."""
    staying = {entry.seq for entry in entries[-LAST_THAT_STAY:]}
    staying |= {entry.seq for entry in entries if entry.current}
    size, start = total(entries), 0
    for entry in entries:
        if entry.seq in staying or entry.seq <= start:
            size -= 0 if entry.seq in staying else entry.cost
            continue
        if size <= limit:
            break
        start = -(-entry.seq // step) * step
        size -= entry.cost
    return [entry for entry in entries if entry.seq > start or entry.seq in staying]


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
    text = shortened(entry.text, entry.frame, tokens, counter)
    return replace(entry, text=text, tokens=counter.count(entry.frame(text)))


def _mark(text: str, head: str) -> str:
    return f"[{len(text) - len(head):,} characters cut]"
