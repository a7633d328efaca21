"""Ranking of messages by a query: meaning, words and people, fused into one score.

All statistics come from the given blocks. They hold only messages that the reader may see, so a
score tells nothing about other messages.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from skein.models.recall.block import NEAR, WIDE, Block, BlockLine, Vector

# The weights of the standardised parts, fitted on conversations of two people
# (`make bench ONLY=recall`). The parts that compare whole windows find an answer beside its
# question.
NEAR_MEANING, WIDE_MEANING = 0.5, 0.35
WIDE_WORDS, NEAR_SHARE, WIDE_SHARE = 0.25, 0.2, 0.35
PERSON = 1.4
SATURATION, LENGTH_WEIGHT = 1.2, 0.75  # k1 and b of BM25

Values = list[float]


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What is searched for.

    Attributes:
        vector: The embedding of the query without the names of people; a unit vector.
        stems: The stems of the query without the names of people.
        sender_ids: The ids of the people whom the query names.
    """

    vector: Vector
    stems: frozenset[str]
    sender_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found.

    Attributes:
        chat_id: The chat.
        seq: The number of the message.
        score: How well the message matches; comparable within one ranking only.
    """

    chat_id: str
    seq: int
    score: float


def ranked(query: RecallQuery, blocks: Sequence[Block]) -> list[Hit]:
    """Rank the messages of blocks, best first; newer messages first among equal ones.

    Args:
        query: The query.
        blocks: Blocks of the query's model, with readable messages only.
    """
    lines = [line for block in blocks for line in block.lines]
    if not lines:
        return []
    near, wide = _windows(blocks, NEAR), _windows(blocks, WIDE)
    products = [line.scale * _dot(line.steps, query.vector) for line in lines]
    rarity = _rarity(query.stems, lines)
    whole = sum(rarity.values())
    words = [Counter(stem for stem in line.stems if stem in rarity) for line in lines]
    wide_words = [_added(words, window) for window in wide]
    lengths = [sum(len(lines[other].stems) for other in window) for window in wide]
    mean_length = sum(lengths) / len(lengths) or 1.0
    parts: list[tuple[float, Values]] = [
        (NEAR_MEANING, _cosines(products, near, [line.near for line in lines])),
        (WIDE_MEANING, _cosines(products, wide, [line.wide for line in lines])),
        (
            WIDE_WORDS,
            [
                _bm25(found, rarity, length / mean_length)
                for found, length in zip(wide_words, lengths, strict=True)
            ],
        ),
        (NEAR_SHARE, [_share(_added(words, window), rarity, whole) for window in near]),
        (WIDE_SHARE, [_share(found, rarity, whole) for found in wide_words]),
    ]
    scores = _by_person(query, lines)
    for weight, values in parts:
        scores = [
            score + weight * value
            for score, value in zip(scores, _standardised(values), strict=True)
        ]
    chats = [block.chat_id for block in blocks for _ in block.lines]
    hits = [
        Hit(chat_id, line.seq, score)
        for chat_id, line, score in zip(chats, lines, scores, strict=True)
    ]
    return sorted(hits, key=lambda hit: (-hit.score, -hit.seq))


def _windows(blocks: Sequence[Block], reach: int) -> list[range]:
    """Return the positions of each line's window, which does not cross the ends of its block."""
    windows: list[range] = []
    start = 0
    for block in blocks:
        end = start + len(block.lines)
        windows += [
            range(max(start, position - reach), min(end, position + reach + 1))
            for position in range(start, end)
        ]
        start = end
    return windows


def _dot(steps: bytes, vector: Vector) -> float:
    product: float = sum(map(mul, memoryview(steps).cast("b"), vector))
    return product


def _cosines(products: Values, windows: Sequence[range], lengths: Values) -> Values:
    return [
        sum(products[other] for other in window) / length if length else 0.0
        for window, length in zip(windows, lengths, strict=True)
    ]


def _rarity(stems: frozenset[str], lines: Sequence[BlockLine]) -> dict[str, float]:
    """Return the inverse document frequency of each stem of the query."""
    known = Counter(stem for line in lines for stem in set(line.stems) & stems)
    return {
        stem: math.log(1 + (len(lines) - known[stem] + 0.5) / (known[stem] + 0.5))
        for stem in sorted(stems)
    }


def _added(words: Sequence[Counter[str]], window: range) -> Counter[str]:
    total: Counter[str] = Counter()
    for other in window:
        total.update(words[other])
    return total


def _bm25(found: Counter[str], rarity: dict[str, float], length: float) -> float:
    norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length)
    return sum(
        rarity[stem] * count * (SATURATION + 1) / (count + norm) for stem, count in found.items()
    )


def _share(found: Counter[str], rarity: dict[str, float], whole: float) -> float:
    """Return the share of the query's stems that were found, weighted by rarity."""
    return sum(rarity[stem] for stem in found) / whole if whole else 0.0


def _by_person(query: RecallQuery, lines: Sequence[BlockLine]) -> Values:
    if not query.sender_ids:
        return [0.0] * len(lines)
    return [PERSON if line.sender_id in query.sender_ids else -PERSON for line in lines]


def _standardised(values: Values) -> Values:
    """Shift and scale values to mean 0 and standard deviation 1; equal values become 0."""
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread for value in values] if spread else [0.0] * len(values)
