"""Split a chat's messages into chunks, each of which fits into one question to the model.

A message is split only if it is too long for one chunk. Messages are read one by one, each whole
message is measured once, and only one chunk is in memory at a time. Time and memory therefore grow
at most in proportion to the messages read.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from skein.models.chats.chat import Message
from skein.models.visibility.provenance import NO_AUTHORS, Authors

SMALLEST_PART = 200  # characters; a message under twice this length is not halved
NEAR_THE_END = 0.9  # a part ends at a space if its last tenth has one
CAUTION = 0.95  # factor on the estimate of how many characters fit

Measure = Callable[[Message, int, int], int]
"""Counts the tokens of a part of a message, from its first character to its end (exclusive)."""


class HistoryPosition(NamedTuple):
    """Consolidation watermark: where the part of a chat that is already consolidated ends.

    Attributes:
        seq: The last message that is consolidated completely.
        characters: How many characters at the start of the next message are consolidated.
    """

    seq: int
    characters: int = 0


class Piece(NamedTuple):
    """A message or a part of a long message: the characters from `start` to before `end`."""

    message: Message
    start: int
    end: int
    tokens: int

    @property
    def position(self) -> HistoryPosition:
        """The watermark after this piece."""
        seq = self.message.seq
        return (
            HistoryPosition(seq)
            if self.end >= len(self.message.text)
            else HistoryPosition(seq - 1, self.end)
        )


class Chunk(NamedTuple):
    """The pieces for one question, and the watermark after these pieces are consolidated."""

    pieces: tuple[Piece, ...]
    position: HistoryPosition

    @property
    def from_seq(self) -> int:
        """The `seq` of the first message, which may be only partly in the chunk."""
        return self.pieces[0].message.seq

    @property
    def to_seq(self) -> int:
        """The `seq` of the last message, which may be only partly in the chunk."""
        return self.pieces[-1].message.seq

    @property
    def senders(self) -> tuple[str | None, ...]:
        """The people who wrote the messages, by id; None for an agent."""
        return tuple(piece.message.sender.person_id for piece in self.pieces)

    @property
    def words(self) -> Authors:
        """The people whose words the messages may contain, by digest."""
        return NO_AUTHORS.joined(*(piece.message.words for piece in self.pieces))

    @property
    def tokens(self) -> int:
        """The length of the chunk's transcript in tokens."""
        return sum(piece.tokens for piece in self.pieces)


def chunks(
    messages: Iterable[Message],
    *,
    since: HistoryPosition,
    until: int,
    measure: Measure,
    limit: int,
    longest: int,
    joins: Sequence[int] = (),
) -> Iterator[Chunk]:
    """Split messages into chunks of at most `limit` tokens, each with at least one piece.

    Args:
        messages: The messages after `since`, in ascending order.
        since: The watermark before the first chunk.
        until: The `seq` of the last message. The watermark after the last chunk is this message,
            even if the message has no words.
        measure: Counts the tokens of a part of a message.
        limit: The tokens per chunk. A longer message is a chunk of its own.
        longest: The number of tokens above which a message is split. It is at least `limit`.
        joins: The `seq` of each message after which a person joined, ascending. A chunk ends at
            each of these messages, so that all messages of a chunk have the same audience.
    """
    held: list[Piece] = []
    size = group = 0
    for piece in _pieces(messages, since, measure, longest):
        joined = bisect_left(joins, piece.message.seq)
        if held and (size + piece.tokens > limit or joined != group):
            yield Chunk(tuple(held), held[-1].position)
            held.clear()
            size = 0
        held.append(piece)
        size += piece.tokens
        group = joined
    if held:
        yield Chunk(tuple(held), HistoryPosition(until))


def halves(chunk: Chunk) -> tuple[Chunk, Chunk] | None:
    """Split a chunk into two chunks of about the same size.

    A single message is split at a space if possible.

    Returns:
        Both chunks; None if the chunk is too small.
    """
    if len(chunk.pieces) == 1:
        return _message_in_two(chunk)
    ends = list(accumulate(piece.tokens for piece in chunk.pieces))
    middle = bisect_left(ends, chunk.tokens / 2) + 1
    first = chunk.pieces[: min(middle, len(chunk.pieces) - 1)]
    second = chunk.pieces[len(first) :]
    return Chunk(first, first[-1].position), Chunk(second, chunk.position)


def _message_in_two(chunk: Chunk) -> tuple[Chunk, Chunk] | None:
    [piece] = chunk.pieces
    length = piece.end - piece.start
    if length < 2 * SMALLEST_PART:
        return None
    middle = _at_a_space(piece.message.text, piece.start, piece.start + length // 2)
    first = piece._replace(end=middle, tokens=piece.tokens // 2)
    second = piece._replace(start=middle, tokens=piece.tokens - first.tokens)
    return Chunk((first,), first.position), Chunk((second,), chunk.position)


def _pieces(
    messages: Iterable[Message], since: HistoryPosition, measure: Measure, longest: int
) -> Iterator[Piece]:
    """Yield each message as one piece; a message with more than `longest` tokens is split."""
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
    """Return the start of a long message, cut to at most `longest` tokens."""
    message, start = piece.message, piece.start
    length, tokens = piece.end - start, piece.tokens
    while True:
        length = max(int(length * longest / tokens * CAUTION), 1)
        end = _at_a_space(message.text, start, start + length)
        tokens = measure(message, start, end)
        if tokens <= longest or length == 1:
            return Piece(message, start, end, tokens)


def _at_a_space(text: str, start: int, end: int) -> int:
    """Move the end of a part back to a space in the part's last tenth.

    If that tenth has no space, the part ends at `end`. The result is always before the end of the
    text, so that the rest of the text is never empty.
    """
    end = min(end, len(text) - 1)
    space = text.rfind(" ", start + int((end - start) * NEAR_THE_END), end)
    return space + 1 if space > start else end
