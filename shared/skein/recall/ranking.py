"""Ranking of passages by a query: meaning, words, people and kinds of facts in one score.

All statistics come from the given passages. Because the reader may see all of these passages, a
score does not reveal anything about other messages.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple

from skein.models.common.embedding import Vector
from skein.models.common.storage import Key
from skein.recall.questions import names_time

# The windows of the standardised parts, as messages on each side. A window finds an answer beside
# its question. The empty window ranks the passage with the words before its neighbours.
MEANING, WORDS = (1, 3), (0, 5)
# The weights of all parts, in the order of `parts_of`. docs/recall.md explains how they were
# fitted.
WEIGHTS = {
    "meaning, 3 messages": 0.40,
    "meaning, 7 messages": 0.45,
    "words of the passage": 0.20,
    "words, 11 messages": 0.60,
    "person": 1.4,
    "asks for a time": 2.2,
    "named time": 1.5,
    "question": -0.9,
    "long answer": -4.0,
}

AFTERWARDS = 2 * 86_400  # seconds after a time that still count: people often write a day later
COHERENCE = 0.38  # the usual cosine of adjacent messages
SHARE_STRENGTH = 0.5  # the weight of a match by words relative to one by meaning
MIN_DEVIATION = 0.05  # minimum of a part; fewer than a dozen passages differ by chance

Values = list[float]
MessageRef = tuple[str, int]
"""A message: the id of its chat, and its number. For a memory, its own id replaces the chat's."""


class MemoryRef(NamedTuple):
    """A memory that sharing rules may show, and the messages that it was made from.

    Attributes:
        key: The key of the memory.
        chat_id: The chat of the messages.
        seqs: The numbers of the messages, ascending.
    """

    key: Key
    chat_id: str
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A query in the form that the ranking uses.

    Attributes:
        vector: The embedding of the query without the names of people; a unit vector.
        stems: The stems of the query without the names of people.
        sender_ids: The ids of the people that the query names.
        asks_time: Whether the query asks when something happened.
        during: The time that the query names, as its first and last second.
    """

    vector: Vector
    stems: frozenset[str]
    sender_ids: frozenset[str] = frozenset()
    asks_time: bool = False
    during: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A passage in the form that the ranking uses.

    Attributes:
        part: The position of the passage in its message, from 0.
        stems: The stems of the passage's words.
        created_at: When the message was posted, in seconds since 1970.
        long_answer: Whether the passage belongs to a long message of an agent.
        asks: Whether the passage ends with a question, if its text was read.
        cosine: The cosine with the query; None if the vector search did not find the passage.
        weight: How much the passage counts in the mean of several vectors; see `Embedding`.
        characters: The length of the message; 0 if unknown.
        by_rule: Whether sharing rules may show the passage to the readers.
        memory: The memory that the passage belongs to; None for a passage of a message.
    """

    chat_id: str
    seq: int
    part: int
    sender_id: str
    stems: frozenset[str]
    created_at: int = 0
    long_answer: bool = False
    asks: bool = False
    cosine: float | None = None
    weight: float = 0.0
    characters: int = 0
    by_rule: bool = False
    memory: MemoryRef | None = None

    @property
    def message(self) -> MessageRef:
        return self.chat_id, self.seq


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found.

    Attributes:
        score: How well the passage matches; comparable within one ranking only.
        strength: How well the passage and its neighbours match by meaning and words only, from
            about 0 to 1.5; comparable between rankings.
    """

    line: Line
    score: float
    strength: float = 0.0


def ranked(query: RecallQuery, lines: Sequence[Line]) -> list[Hit]:
    """Rank passages, best first; newer messages first among equal ones.

    Args:
        lines: Readable passages, each at most once.
    """
    if not lines:
        return []
    parts = parts_of(query, lines)
    weights = list(WEIGHTS.values())
    scores = [sum(map(mul, weights, values)) for values in zip(*parts.values, strict=True)]
    hits = map(Hit, lines, scores, parts.strengths)
    return sorted(hits, key=lambda hit: (-hit.score, -hit.line.seq, hit.line.part))


@dataclass(frozen=True, slots=True)
class Parts:
    """The values from which the scores of passages are computed.

    Attributes:
        values: The value of each passage in each part of the score, in the order of `WEIGHTS`.
        strengths: The strength of each passage; see `Hit`.
    """

    values: list[Values]
    strengths: Values


def parts_of(query: RecallQuery, lines: Sequence[Line]) -> Parts:
    """Return the parts of the scores of passages, before they are weighted."""
    meaning = [_meaning(lines, reach) for reach in MEANING]
    words = [_words(query.stems, lines, reach) for reach in WORDS]
    facts = (_person, _time, _during, _question, _long_answer)
    return Parts(
        [_standardised(values) for values in (*meaning, *words)]
        + [[fact(query, line) for line in lines] for fact in facts],
        [near + SHARE_STRENGTH * share for near, share in zip(meaning[0], words[0], strict=True)],
    )


def _meaning(lines: Sequence[Line], reach: int) -> Values:
    """Return how close each passage, together with its neighbours, is to the query, as a cosine.

    A neighbouring message is represented by its best passage. A passage without a cosine gets the
    lowest cosine of the others.
    """
    best: dict[MessageRef, Line] = {}
    found = [line for line in lines if line.cosine is not None]
    least = min((line.cosine or 0.0 for line in found), default=0.0)
    usual = sum(line.weight for line in found) / max(len(found), 1)
    for line in lines:
        other = best.get(line.message)
        if line.cosine is not None and (other is None or line.cosine > (other.cosine or 0.0)):
            best[line.message] = line
    cosines: Values = []
    for line in lines:
        product = length = 0.0
        neighbours = [best.get((line.chat_id, seq)) for seq in _around(line.seq, reach)]
        for one in (line, *neighbours):
            if one is not None:
                cosine, weight = one.cosine, one.weight
                if cosine is None:
                    cosine, weight = least, usual
                product += weight * cosine
                length = math.sqrt(length**2 + weight**2 + 2 * COHERENCE * length * weight)
        cosines.append(product / length if length else 0.0)
    return cosines


def _words(stems: frozenset[str], lines: Sequence[Line], reach: int) -> Values:
    """Return which share of the query's stems each passage and its neighbours contain.

    Rare stems count more.
    """
    positions: dict[MessageRef, list[int]] = defaultdict(list)
    for position, line in enumerate(lines):
        positions[line.message].append(position)
    values = [0.0] * len(lines)
    whole = 0.0
    for stem in sorted(stems):
        holding = [position for position, line in enumerate(lines) if stem in line.stems]
        rarity = math.log(1 + (len(lines) - len(holding) + 0.5) / (len(holding) + 0.5))
        whole += rarity
        covered = set(holding)
        for chat_id, seq in {lines[position].message for position in holding}:
            for near in _around(seq, reach):
                covered.update(positions.get((chat_id, near), ()))
        for position in covered:
            values[position] += rarity
    return [value / whole for value in values] if whole else values


def _around(seq: int, reach: int) -> list[int]:
    """Return the numbers of the messages at most `reach` away, without the message itself."""
    return [*range(seq - reach, seq), *range(seq + 1, seq + reach + 1)]


def _person(query: RecallQuery, line: Line) -> float:
    """Return 1 for messages of a named person, and -1 for messages of others."""
    if not query.sender_ids:
        return 0.0
    return 1.0 if line.sender_id in query.sender_ids else -1.0


def _time(query: RecallQuery, line: Line) -> float:
    return float(query.asks_time and names_time(line.stems))


def _during(query: RecallQuery, line: Line) -> float:
    if query.during is None:
        return 0.0
    first_at, last_at = query.during
    return float(first_at <= line.created_at <= last_at + AFTERWARDS)


def _question(_query: RecallQuery, line: Line) -> float:
    return float(line.asks)


def _long_answer(_query: RecallQuery, line: Line) -> float:
    return float(line.long_answer)


def _standardised(values: Values) -> Values:
    """Shift and scale values to mean 0 and standard deviation 1; equal values become 0."""
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / max(deviation, MIN_DEVIATION) for value in values]
