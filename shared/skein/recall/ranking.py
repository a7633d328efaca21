"""Ranking of messages by a query: meaning, words, people and kinds of facts in one score.

All statistics come from the given blocks. They hold only messages that the reader may see, so a
score tells nothing about other messages.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from struct import unpack

from skein.models.common.embedding import Vector
from skein.recall.models.block import NEAR, WIDE, Block, BlockLine
from skein.recall.questions import names_number, names_time

# The weights of the standardised parts, fitted on conversations of two people with one of them left
# out at a time (`make bench ONLY=recall`). Parts that compare windows find an answer beside its
# question.
NEAR_MEANING, WIDE_MEANING = 0.40, 0.45
SHARES = ((0, 0.13), (1, 0.10), (3, 0.26), (5, 0.44))  # messages on each side, weight
# The weights of facts that hold or do not.
PERSON, TIME, NUMBER = 1.4, 2.2, 1.0

COHERENCE = 0.38  # the usual cosine of adjacent messages, for windows across the ends of blocks
SHARE_STRENGTH = 0.5  # how much a match by words counts beside one by meaning
MIN_DEVIATION = 0.05  # of a part's values; fewer messages than a dozen differ by chance

# The query's vector is made about as long as the steps of a line, so that `_measured` is exact.
QUERY_LENGTH = 1_000.0
PRODUCT_DIGITS = 9

Values = list[float]
Measures = dict[tuple[str, str, int], tuple[float, float]]
"""The product of each line's weighted vector and the query's, and the length of the former.

The keys are a block's model, the id of its chat and the number of the message.
"""


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A query in the form that the ranking compares messages with.

    Attributes:
        vector: The embedding of the query without the names of people; a unit vector.
        stems: The stems of the query without the names of people.
        sender_ids: The ids of the people whom the query names.
        asks_time: Whether the query asks when something was.
        asks_number: Whether the query asks how many or how much.
    """

    vector: Vector
    stems: frozenset[str]
    sender_ids: frozenset[str] = frozenset()
    asks_time: bool = False
    asks_number: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found.

    Attributes:
        score: How well the message matches; comparable within one ranking only.
        strength: How well the message and those beside it match by meaning and words alone, from
            about 0 to 1.5; comparable between rankings.
    """

    chat_id: str
    seq: int
    score: float
    strength: float = 0.0


def ranked(
    query: RecallQuery, blocks: Sequence[Block], measures: Measures | None = None
) -> list[Hit]:
    """Rank the messages of blocks, best first; newer messages first among equal ones.

    Windows cross the ends of a block if the adjacent block is given, too.

    Args:
        blocks: Blocks of the query's model, with readable messages only, each at most once.
        measures: The measures of earlier calls for the same query, which are used again. New
            measures are added.
    """
    ordered = sorted(
        (block for block in blocks if block.lines), key=lambda one: (one.chat_id, one.number)
    )
    windowed = list(_lines_of(ordered))
    if not windowed:
        return []
    lines = [line_at.line for line_at in windowed]
    measured = _measured(query.vector, ordered, {} if measures is None else measures)
    products = [product for product, _ in measured]
    own = [
        length if len(line_at.joined) > len(line_at.block) else 0.0
        for line_at, (_, length) in zip(windowed, measured, strict=True)
    ]
    near = _cosines(products, own, windowed, NEAR, [line.near for line in lines])
    wide = _cosines(products, own, windowed, WIDE, [line.wide for line in lines])
    known = _positions(query.stems, lines)
    shares = [_shares(known, windowed, reach) for reach, _ in SHARES]
    parts = [(NEAR_MEANING, near), (WIDE_MEANING, wide)]
    parts += [(weight, share) for (_, weight), share in zip(SHARES, shares, strict=True)]
    scores = _by_fact(query, lines)
    for weight, values in parts:
        for position, value in enumerate(_standardised(values)):
            scores[position] += weight * value
    widest = [max(each) for each in zip(*shares[:3], strict=True)]
    hits = [
        Hit(line_at.chat_id, line_at.line.seq, score, max(one, other) + SHARE_STRENGTH * share)
        for line_at, score, one, other, share in zip(
            windowed, scores, near, wide, widest, strict=True
        )
    ]
    return sorted(hits, key=lambda hit: (-hit.score, -hit.seq))


@dataclass(frozen=True, slots=True)
class _WindowedLine:
    """A line with the positions of its block, and of the blocks that follow each other with it."""

    chat_id: str
    line: BlockLine
    block: range
    joined: range

    def window(self, position: int, reach: int) -> range:
        """Return the positions of the messages at most `reach` away."""
        first = max(self.joined.start, position - reach)
        return range(first, min(self.joined.stop, position + reach + 1))


def _lines_of(blocks: Sequence[Block]) -> Iterator[_WindowedLine]:
    """Yield the lines of blocks in order; the blocks must be in order, too."""
    position = 0
    group: list[Block] = []
    for block in blocks:
        if group and not _adjacent(group[-1], block):
            yield from _joined(group, position)
            position += sum(len(one.lines) for one in group)
            group = []
        group.append(block)
    yield from _joined(group, position)


def _adjacent(block: Block, following: Block) -> bool:
    return following.chat_id == block.chat_id and following.number == block.number + 1


def _joined(blocks: Sequence[Block], position: int) -> Iterator[_WindowedLine]:
    """Yield the lines of blocks that follow each other, the first at a position."""
    joined = range(position, position + sum(len(block.lines) for block in blocks))
    for block in blocks:
        within = range(position, position + len(block.lines))
        position = within.stop
        yield from (_WindowedLine(block.chat_id, line, within, joined) for line in block.lines)


def _measured(
    vector: Vector, blocks: Sequence[Block], measures: Measures
) -> list[tuple[float, float]]:
    """Return the product with the query and the length of each line, in order.

    Distances and lengths are computed in C: (|a|² + |b|² - |a - b|²) / 2 is the product of a and b.
    """
    query = tuple(QUERY_LENGTH * component for component in vector)
    squared = math.hypot(*query) ** 2
    found: list[tuple[float, float]] = []
    for block in blocks:
        for line in block.lines:
            key = (block.model, block.chat_id, line.seq)
            measure = measures.get(key)
            if measure is None:
                steps = unpack(f"{len(line.steps)}b", line.steps)
                length = math.hypot(*steps)
                apart = math.dist(steps, query)
                product = (length**2 + squared - apart**2) / 2 / QUERY_LENGTH if squared else 0.0
                product = round(product, PRODUCT_DIGITS)  # the rest is noise of the subtraction
                measure = measures[key] = (line.scale * product, line.scale * length)
            found.append(measure)
    return found


def _cosines(
    products: Values,
    own: Values,
    windowed: Sequence[_WindowedLine],
    reach: int,
    lengths: Sequence[float],
) -> Values:
    """Return the cosine of each line's window and the query.

    The length of a window within its block is exact. For a window that crosses the end of its
    block, the messages beyond add to it as messages of usual coherence do.

    Args:
        products: The product of each line's weighted vector and the query's.
        own: The length of each line's weighted vector, if its windows can cross an end.
        windowed: The lines.
        reach: The messages on each side that belong to the window.
        lengths: The length of the part of each window that lies within its block.
    """
    cosines: Values = []
    for position, (line_at, length) in enumerate(zip(windowed, lengths, strict=True)):
        window, block = line_at.window(position, reach), line_at.block
        first, stop = window.start, window.stop
        whole = length
        if first < block.start or stop > block.stop:
            whole = _joined_length(length, own[first : block.start] + own[block.stop : stop])
        cosines.append(sum(products[first:stop]) / whole if whole else 0.0)
    return cosines


def _joined_length(length: float, others: Sequence[float]) -> float:
    """Return the length of a sum of vectors of usual coherence, from their lengths."""
    for other in others:
        length = math.sqrt(length**2 + other**2 + 2 * COHERENCE * length * other)
    return length


def _positions(stems: frozenset[str], lines: Sequence[BlockLine]) -> dict[str, list[int]]:
    """Return the positions of the lines with each stem of the query."""
    known: dict[str, list[int]] = {stem: [] for stem in sorted(stems)}
    for position, line in enumerate(lines):
        # The stems of a long message end early; its rare words do not.
        for stem in stems.intersection(line.stems).union(stems.intersection(line.posted)):
            known[stem].append(position)
    return known


def _shares(
    known: Mapping[str, Sequence[int]], windowed: Sequence[_WindowedLine], reach: int
) -> Values:
    """Return the share of the query's stems in each line's window, weighted by rarity.

    Args:
        known: The positions of the lines with each stem; see `_positions`.
        windowed: The lines.
        reach: The messages on each side that belong to the window.
    """
    total = len(windowed)
    values = [0.0] * total
    whole = 0.0
    for positions in known.values():
        rarity = math.log(1 + (total - len(positions) + 0.5) / (len(positions) + 0.5))
        whole += rarity
        covered: set[int] = set()
        for position in positions:
            covered.update(windowed[position].window(position, reach))
        for position in covered:
            values[position] += rarity
    return [value / whole for value in values] if whole else values


def _by_fact(query: RecallQuery, lines: Sequence[BlockLine]) -> Values:
    """Score the lines by their senders, and by the kind of fact that the query asks for."""
    scores = [0.0] * len(lines)
    for position, line in enumerate(lines):
        if query.sender_ids:
            scores[position] += PERSON if line.sender_id in query.sender_ids else -PERSON
        if query.asks_time and names_time(line.stems):
            scores[position] += TIME
        if query.asks_number and names_number(line.stems):
            scores[position] += NUMBER
    return scores


def _standardised(values: Values) -> Values:
    """Shift and scale values to mean 0 and standard deviation 1; equal values become 0."""
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / max(deviation, MIN_DEVIATION) for value in values]
