"""Cuts a conversation into chunks that one question holds, without breaking what was said.

Messages are looked at one by one, each is counted once, and no more than one chunk is held at a
time: neither time nor memory grows faster than what is read.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from skein.models.chat import Message

SMALLEST_PART = 200  # characters; what is shorter is not cut in two
NEAR_THE_END = 0.9  # a part ends at a space, if there is one in its last tenth
CAUTION = 0.95  # of a guess at how many characters fit

Measure = Callable[[Message, int, int], int]
"""How many tokens the characters of a message from the first up to the second number take."""


class Mark(NamedTuple):
    """Up to where a conversation is done: all of message `seq`, and so much of the next."""

    seq: int
    characters: int = 0


class Piece(NamedTuple):
    """A message, or the part of a long one from `start` up to `end`."""

    message: Message
    start: int
    end: int
    tokens: int

    @property
    def mark(self) -> Mark:
        """Up to where the conversation is done once this is."""
        seq = self.message.seq
        return Mark(seq) if self.end >= len(self.message.text) else Mark(seq - 1, self.end)


class Chunk(NamedTuple):
    """What is asked about at once, and the mark that passes it."""

    pieces: tuple[Piece, ...]
    mark: Mark

    @property
    def from_seq(self) -> int:
        """The first message that it holds, or holds a part of."""
        return self.pieces[0].message.seq

    @property
    def to_seq(self) -> int:
        """The last one."""
        return self.pieces[-1].message.seq

    @property
    def tokens(self) -> int:
        """How long its transcript is."""
        return sum(piece.tokens for piece in self.pieces)


def chunks(
    messages: Iterable[Message],
    *,
    since: Mark,
    until: int,
    measure: Measure,
    limit: int,
    longest: int,
    joins: Sequence[int] = (),
) -> Iterator[Chunk]:
    """Cut `messages` into chunks of at most `limit` tokens; each holds at least one message.

    Args:
        messages: By their numbers, ascending, all of them after `since`.
        since: Up to where the conversation is done.
        until: The number up to which it is done after the last chunk, whatever has no words there.
        measure: Counts tokens.
        limit: Of a chunk.
        longest: Only a message with more tokens than this is cut; at least `limit`.
        joins: After these messages somebody came in: a chunk ends there, too. Ascending.
    """
    held: list[Piece] = []
    size = group = 0
    for piece in _pieces(messages, since, measure, longest):
        joined = bisect_left(joins, piece.message.seq)
        if held and (size + piece.tokens > limit or joined != group):
            yield Chunk(tuple(held), held[-1].mark)
            held.clear()
            size = 0
        held.append(piece)
        size += piece.tokens
        group = joined
    if held:
        yield Chunk(tuple(held), Mark(until))


def halves(chunk: Chunk) -> tuple[Chunk, Chunk] | None:
    """The chunk in two of about the same size, a lone message cut at a space; None if too small."""
    if len(chunk.pieces) == 1:
        return _message_in_two(chunk)
    ends = list(accumulate(piece.tokens for piece in chunk.pieces))
    middle = bisect_left(ends, chunk.tokens / 2) + 1
    first = chunk.pieces[: min(middle, len(chunk.pieces) - 1)]
    second = chunk.pieces[len(first) :]
    return Chunk(first, first[-1].mark), Chunk(second, chunk.mark)


def _message_in_two(chunk: Chunk) -> tuple[Chunk, Chunk] | None:
    [piece] = chunk.pieces
    length = piece.end - piece.start
    if length < 2 * SMALLEST_PART:
        return None
    middle = _at_a_space(piece.message.text, piece.start, piece.start + length // 2)
    first = piece._replace(end=middle, tokens=piece.tokens // 2)
    second = piece._replace(start=middle, tokens=piece.tokens - first.tokens)
    return Chunk((first,), first.mark), Chunk((second,), chunk.mark)


def _pieces(
    messages: Iterable[Message], since: Mark, measure: Measure, longest: int
) -> Iterator[Piece]:
    """Each message as a whole or, where it alone is too long, in parts."""
    for message in messages:
        start = since.characters if message.seq == since.seq + 1 else 0
        end = len(message.text)
        piece = Piece(message, start, end, measure(message, start, end))
        while piece.tokens > longest and piece.end - piece.start > 1:
            part = _part(piece, measure, longest)
            yield part
            piece = Piece(message, part.end, end, measure(message, part.end, end))
        yield piece


def _part(piece: Piece, measure: Measure, longest: int) -> Piece:
    """The beginning of a long message, as much of it as fits."""
    message, start = piece.message, piece.start
    length, tokens = piece.end - start, piece.tokens
    while True:
        length = max(int(length * longest / tokens * CAUTION), 1)
        end = _at_a_space(message.text, start, start + length)
        tokens = measure(message, start, end)
        if tokens <= longest or length == 1:
            return Piece(message, start, end, tokens)


def _at_a_space(text: str, start: int, end: int) -> int:
    """Where a part that ends at `end` had better end; never in the middle of a word if avoidable.

    It never ends at the very end of the text, since that would be no part.
    """
    end = min(end, len(text) - 1)
    space = text.rfind(" ", start + int((end - start) * NEAR_THE_END), end)
    return space + 1 if space > start else end
