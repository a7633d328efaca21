"""An index of passages, which scores each passage by its words and its meaning.

Words are scored with BM25. The score is a share of the highest score that the words of the query
could reach. So scores of different queries can be compared, and one threshold tells whether a
passage answers a question at all. All statistics come from the indexes that are searched together.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import mul
from threading import Lock

from cachetools import LRUCache

from skein.services.common.text_search import ALIKE, EmbeddingCache
from skein.services.common.words import stems_of

# The parameters of BM25, at their usual values: K1 for repeated words, B for long passages.
K1, B = 1.2, 0.75
MEANING = 0.7  # weight of the cosine; a passage with each word of the query once has about 0.45
# A smaller collection is scored as if it had this many passages. Otherwise, a word that all of
# three passages contain would count as a filler.
LEAST_PASSAGES = 100
CACHED_INDEXES = 8  # of texts that are searched as they are, such as an agent's documents
STRONGEST = 127  # the largest component of a vector that is stored in 8 bits

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """A query, prepared for the search of indexes.

    Attributes:
        stems: The stems of the query's words, without fillers.
        vector: The query's embedding; if empty, only words are compared.
    """

    stems: frozenset[str]
    vector: Vector

    @classmethod
    def of(cls, text: str, vector: Vector) -> "IndexQuery":
        return cls(frozenset(stems_of(text)), vector)


@dataclass(frozen=True, slots=True)
class TextIndex:
    """An index of passages by words and by meaning; a position identifies each passage.

    Attributes:
        lengths: The number of stems of each passage.
        postings: For each stem: pairs of numbers, one pair for each passage that contains the stem.
            A pair is the position of the passage and the number of times that the stem occurs in
            it.
        vectors: The vector of each passage, of any length; an empty vector matches nothing.
        norms: The lengths of the vectors.
    """

    lengths: Sequence[int]
    postings: Mapping[str, Sequence[int]]
    vectors: Sequence[Vector]
    norms: Sequence[float]

    @classmethod
    def of(cls, texts: Iterable[str], vectors: Sequence[Vector]) -> "TextIndex":
        """Index passages with their vectors."""
        lengths: list[int] = []
        postings: dict[str, list[int]] = defaultdict(list)
        for position, text in enumerate(texts):
            counts = Counter(stems_of(text))
            lengths.append(counts.total())
            for stem, count in counts.items():
                postings[stem] += (position, count)
        return cls(lengths, postings, vectors, norms_of(vectors))


class IndexCache:
    """The indexes of the texts that were searched lately, by a digest of the texts.

    Args:
        meanings: Returns the vectors of texts.
    """

    def __init__(self, *, meanings: EmbeddingCache) -> None:
        self._meanings = meanings
        self._known: LRUCache[bytes, TextIndex] = LRUCache(CACHED_INDEXES)
        self._lock = Lock()

    def best(self, texts: Sequence[str], query: str) -> list[int]:
        """Return the positions of the texts that match a query, best first.

        A text matches if it contains a word of the query or has a similar meaning. Texts that match
        equally well keep their order.
        """
        key = sha256("\0".join(texts).encode(errors="surrogatepass")).digest()
        with self._lock:
            index = self._known.get(key)
        if index is None:
            index = TextIndex.of(texts, self._meanings.of(texts))
            with self._lock:
                self._known[key] = index
        asked = IndexQuery.of(query, self._meanings.of([query])[0])
        [values] = scores([index], asked)
        postings = (index.postings.get(stem, ()) for stem in asked.stems)
        naming = {position for posting in postings for position, _ in _pairs(posting)}
        found = [at for at, value in enumerate(values) if at in naming or value >= ALIKE * MEANING]
        return sorted(found, key=lambda at: -values[at])


def norms_of(vectors: Iterable[Vector]) -> list[float]:
    return [math.sqrt(sum(map(mul, vector, vector))) for vector in vectors]


def in_bytes(vector: Vector) -> bytes:
    """Return a vector as bytes, 8 bits for each component; the vector's length is lost."""
    most = max(map(abs, vector), default=0.0) or 1.0
    return bytes(round(value / most * STRONGEST) % 256 for value in vector)


def from_bytes(content: bytes, dimensions: int) -> list[Vector]:
    """Return the vectors in the joined results of `in_bytes`."""
    numbers = memoryview(content).cast("b")
    return [numbers[start : start + dimensions] for start in range(0, len(numbers), dimensions)]


def scores(indexes: Sequence[TextIndex], query: IndexQuery) -> list[list[float]]:
    """Return, for each index, the scores of the index's passages, from 0 to about 1.7."""
    count = sum(len(index.lengths) for index in indexes)
    average = sum(sum(index.lengths) for index in indexes) / count if count else 0.0
    rarities = {stem: _rarity(stem, indexes, count) for stem in query.stems}
    best = (K1 + 1) * sum(rarities.values())
    scored: list[list[float]] = []
    for index in indexes:
        values = [MEANING * max(value, 0.0) for value in _cosines(index, query.vector)]
        for stem, rarity in rarities.items():
            for position, often in _pairs(index.postings.get(stem, ())):
                longer = index.lengths[position] / average
                weight = often * (K1 + 1) / (often + K1 * (1 - B + B * longer))
                values[position] += rarity * weight / best
        scored.append(values)
    return scored


def _rarity(stem: str, indexes: Sequence[TextIndex], count: int) -> float:
    """Return the weight of a stem: its inverse document frequency."""
    holding = sum(len(index.postings.get(stem, ())) // 2 for index in indexes)
    return math.log(1 + (max(count, LEAST_PASSAGES) - holding + 0.5) / (holding + 0.5))


def _cosines(index: TextIndex, vector: Vector) -> Iterator[float]:
    asked = math.sqrt(sum(map(mul, vector, vector)))
    for each, norm in zip(index.vectors, index.norms, strict=True):
        size = norm * asked
        yield sum(map(mul, each, vector)) / size if size else 0.0


def _pairs(posting: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(posting[::2], posting[1::2], strict=True)
