"""Cut a history to its token budget, in a fixed order.

First, the oldest messages are dropped. Then, long messages are cut with a visible mark. The current
message, which is the one to answer, is cut last, and only if it is too long by itself. The last two
messages, the current message, the trigger's message and an open question are never dropped.

The caller of this module shows the newest stored summary in place of the dropped messages. No new
summary is made, because a person is waiting for the answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from skein.ports import TokenCounter

LAST_THAT_STAY = 2
MESSAGE_OVERHEAD_TOKENS = 4  # a chat completion adds them to each message for its role


Frame = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One message of the history, as the prompt shows it.

    Attributes:
        seq: The number of the message in the chat.
        text: The text of the message, which may be cut.
        tokens: The size of the text within its frame, without the overhead.
        frame: A function that gets a text and returns the entry as the prompt shows it with this
            text.
        own: Whether the agent posted the message.
        current: Whether this is the message to answer.
        stays: Whether the message is never dropped, because another part of the prompt refers to
            it.
        overhead: Additional tokens of the entry, such as those of a message's role.
    """

    seq: int
    text: str
    tokens: int
    frame: Frame = field(default=str, compare=False)
    own: bool = False
    current: bool = False
    overhead: int = MESSAGE_OVERHEAD_TOKENS
    stays: bool = False

    @property
    def line(self) -> str:
        return self.frame(self.text)

    @property
    def cost(self) -> int:
        """The tokens of the entry, including the overhead."""
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
    stays: bool = False,
) -> HistoryEntry:
    """Count the tokens of a text in its frame, and create an entry."""
    size = counter.count(frame(text))
    return HistoryEntry(seq, text, size, frame, own, current, overhead, stays)


def total(entries: Sequence[HistoryEntry]) -> int:
    """Return the tokens of all entries, including their overheads."""
    return sum(entry.cost for entry in entries)


def fit(
    entries: Sequence[HistoryEntry], limit: int, counter: TokenCounter, *, block: int = 1
) -> tuple[HistoryEntry, ...]:
    """Cut a history to `limit` tokens (idempotent).

    Args:
        entries: The entries in the order of `seq`; at most one is current.
        limit: At least a few dozen tokens. Below that, messages shrink to their cut marks.
        counter: The tokenizer.
        block: The number of messages that are dropped at a time. Smaller blocks are used if the
            history would otherwise take less than half of `limit`.

    Returns:
        The remaining entries, in the same order. If all entries fit, nothing is cut.
    """
    kept = _without_oldest(entries, limit, block)
    if total(kept) <= limit:
        return tuple(kept)
    current = next((entry for entry in kept if entry.current), None)
    others = [entry for entry in kept if entry is not current]
    tokens_left = limit - sum(entry.overhead for entry in kept)
    if current is None:
        return tuple(_capped(kept, tokens_left, counter))
    share = max(
        tokens_left - current.tokens, min(tokens_left // 4, sum(entry.tokens for entry in others))
    )
    shorter = {entry.seq: entry for entry in _capped(others, share, counter)}
    rest = tokens_left - sum(entry.tokens for entry in shorter.values())
    shorter[current.seq] = _cut(current, max(rest, 0), counter)
    return tuple(shorter[entry.seq] for entry in kept)


def left_out(entries: Sequence[HistoryEntry], shown: Sequence[HistoryEntry]) -> int:
    """Return the `seq` of the newest dropped entry; 0 if all entries are shown."""
    kept = {entry.seq for entry in shown}
    return max((entry.seq for entry in entries if entry.seq not in kept), default=0)


def shortened(text: str, frame: Frame, limit: int, counter: TokenCounter, *, gap: str = " ") -> str:
    """Cut `text` so that the text and its frame together take at most `limit` tokens.

    A mark says how many characters were cut. The frame is never cut, so if `limit` is smaller than
    the frame, the result is over the limit.

    Args:
        frame: Renders the text as the prompt shows it.
        limit: The token limit.
        counter: The tokenizer.
        gap: What separates the mark from the text.
    """
    if counter.count(frame(text)) <= limit:
        return text
    bare = counter.count(frame(""))
    allowed, head = limit - bare, text
    while allowed > 0:
        head = counter.cut(head, allowed).rstrip()
        shown = f"{head}{gap}{_cut_note(text, head)}".strip()
        over = counter.count(frame(shown)) - limit
        if over <= 0:
            return shown
        allowed -= over
    shown = counter.cut(_cut_note(text, ""), max(limit - bare - 1, 0))
    return shown if counter.count(frame(shown)) <= limit else ""


def _without_oldest(entries: Sequence[HistoryEntry], limit: int, block: int) -> list[HistoryEntry]:
    """Drop the oldest entries until the rest fits.

    The last two entries, the current entry and entries that stay are never dropped. Entries are
    dropped in blocks, so that consecutive prompts begin with the same message. If less than half of
    the limit would then be used, smaller blocks are tried, down to one entry.
    """
    size = total(entries)
    if size <= limit:
        return list(entries)
    kept: list[HistoryEntry] = []
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


def _from_start(entries: Sequence[HistoryEntry], limit: int, step: int) -> list[HistoryEntry]:
    """Drop entries in blocks of `step`, which end at multiples of `step`, until the rest fits."""
    staying = {entry.seq for entry in entries[-LAST_THAT_STAY:]}
    staying |= {entry.seq for entry in entries if entry.current or entry.stays}
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


def _capped(
    entries: Sequence[HistoryEntry], tokens_left: int, counter: TokenCounter
) -> list[HistoryEntry]:
    """Cut the longest entries to one common size, so that all fit into `tokens_left`."""
    left, cap = tokens_left, 0
    for position, tokens in enumerate(sorted(entry.tokens for entry in entries)):
        cap = max(left, 0) // (len(entries) - position)
        if tokens > cap:
            break
        left -= tokens
    else:
        return list(entries)
    return [_cut(entry, cap, counter) if entry.tokens > cap else entry for entry in entries]


def _cut(entry: HistoryEntry, tokens: int, counter: TokenCounter) -> HistoryEntry:
    """Cut an entry to at most `tokens` tokens, with a visible mark."""
    if entry.tokens <= tokens:
        return entry
    text = shortened(entry.text, entry.frame, tokens, counter)
    return replace(entry, text=text, tokens=counter.count(entry.frame(text)))


def _cut_note(text: str, head: str) -> str:
    return f"[{len(text) - len(head):,} characters cut]"
