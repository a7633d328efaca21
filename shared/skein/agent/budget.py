"""Fits a conversation into a number of tokens, in a fixed order of cuts.

Oldest messages go first, then long ones are cut with a visible mark, the current one only if it
alone is too long (DESIGN section 6). The last two messages and the current one always stay.
"""

from collections.abc import Callable, Sequence
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
    """

    seq: int
    text: str
    tokens: int
    frame: Frame = field(default=str, compare=False)
    own: bool = False
    current: bool = False

    @property
    def line(self) -> str:
        """What stands in the prompt."""
        return self.frame(self.text)

    @property
    def cost(self) -> int:
        """What it takes from the budget."""
        return self.tokens + MESSAGE_OVERHEAD_TOKENS


def counted(
    seq: int,
    text: str,
    counter: TokenCounter,
    *,
    frame: Frame = str,
    own: bool = False,
    current: bool = False,
) -> Entry:
    """An entry, counted."""
    return Entry(seq, text, counter.count(frame(text)), frame, own, current)


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
    """The entry in at most `tokens` tokens, saying how much of it is missing.

    The frame is never cut, so an entry cannot become smaller than that.
    """
    if entry.tokens <= tokens:
        return entry
    bare = counter.count(entry.frame(""))
    allowed = tokens - bare
    while allowed > 0:
        head = counter.cut(entry.text, allowed).rstrip()
        cut = _shown_as(entry, f"{head} {_mark(entry, head)}".strip(), counter)
        if cut.tokens <= tokens:
            return cut
        allowed -= max(cut.tokens - tokens, 1)
    cut = _shown_as(entry, counter.cut(_mark(entry, ""), max(tokens - bare - 1, 0)), counter)
    return cut if cut.tokens <= tokens else _shown_as(entry, "", counter)


def _mark(entry: Entry, head: str) -> str:
    return f"[{len(entry.text) - len(head):,} characters cut]"


def _shown_as(entry: Entry, text: str, counter: TokenCounter) -> Entry:
    return replace(entry, text=text, tokens=counter.count(entry.frame(text)))
