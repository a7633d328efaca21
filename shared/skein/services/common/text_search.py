"""Search short texts for exact words first, then for stems, then for similar meaning.

Word statistics are computed from the given texts only, all of which the readers may see. Texts are
embedded at the time of the search, and their vectors are never stored. So after a text is changed
or erased, no vector of it is left.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from operator import mul
from threading import Lock

from skein.ports import TextEmbeddings
from skein.services.common.words import fillers, has_stem, stem_of, stems_of, words_of

MAX_WORDS = 100  # words of a query that are used
EMBEDDED_CHARACTERS = 1_000  # characters of a text to embed; the rest is matched by words only
MAX_EMBEDDED = 500_000  # characters to embed in one search, about a second of CPU time
MAX_COMPARED = 200_000  # pairs of texts, about two seconds of CPU time
CACHED_VECTORS = 6_000  # vectors of a kilobyte each
ALIKE = 0.25  # cosine; texts below this do not match by meaning alone
SAME_SUBJECT = 0.45  # cosine; texts above this may state the same fact, or contradict each other
# Texts above one of these thresholds are worth comparing; they may or may not agree.
CLOSE = 0.35  # cosine
SHARED = 0.4  # share of a text's words, weighted by rarity, that the other text also has

Vector = Sequence[float]


class EmbeddingCache:
    """The vectors of texts, computed when they are needed and cached by a digest of the text.

    Args:
        embeddings: Returns the embeddings to use; called at the first search.
    """

    def __init__(self, embeddings: Callable[[], TextEmbeddings]) -> None:
        self._embeddings = embeddings
        self._known: dict[bytes, Vector] = {}
        self._lock = Lock()

    def of(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector of length 1 for each text.

        A vector covers the first 1,000 characters of its text. If the texts together are too long,
        only the first texts are embedded, and the remaining texts get empty vectors.
        """
        heads = [text[:EMBEDDED_CHARACTERS] for text in texts]
        keys = [hashlib.sha256(head.encode(errors="surrogatepass")).digest() for head in heads]
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
        new: dict[bytes, str] = {}
        left = MAX_EMBEDDED
        for key, head in zip(keys, heads, strict=True):
            if key in found or key in new:
                continue
            left -= len(head)
            if left < 0:
                break
            new[key] = head
        if new:
            embedded = self._embeddings().embed(list(new.values()))
            made: dict[bytes, Vector] = {
                key: array("f", one.vector) for key, one in zip(new, embedded, strict=True)
            }
            found |= made
            self._keep(made)
        return [found.get(key, ()) for key in keys]

    def _keep(self, made: dict[bytes, Vector]) -> None:
        with self._lock:
            self._known |= made
            for key in list(self._known)[: max(len(self._known) - CACHED_VECTORS, 0)]:
                del self._known[key]


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of the angle between two unit vectors; 0 if one of them is empty."""
    return float(sum(map(mul, one, other)))


def best_texts(
    texts: Sequence[str], query: str, limit: int, meanings: EmbeddingCache | None = None
) -> list[int]:
    """Rank the texts that match a query, best first.

    Texts are ranked by the kind of match, in this order:

    1. Texts with a word of the query as it is written, ranked by BM25.
    2. Texts with the stem of an English word of the query.
    3. Texts of similar meaning.
    4. Texts that share only a filler such as "the" with the query. If the query has only fillers,
       they count as ordinary words.

    Texts that share the same words with the query and are close in meaning may contradict each
    other. Of these texts, the newest comes first.

    Args:
        texts: The texts, newest first; equally good matches keep this order.
        query: The words to search for.
        meanings: The vectors of texts; if None, only words are compared.

    Returns:
        Indexes into `texts`.
    """
    wanted = list(dict.fromkeys(words_of(query)))[:MAX_WORDS]
    if not texts or limit <= 0 or not query.strip():
        return []
    vectors = meanings.of([query, *texts]) if meanings is not None else None
    words = [list(words_of(text)) for text in texts]
    telling = _telling(query, wanted)
    order: list[int] = []
    for tier in _tiers(words, wanted, telling, vectors):
        known = set(order)
        new = [position for position in tier if position not in known]
        order += _newest_of_like(new, words, telling, vectors, limit - len(order))
        if len(order) >= limit:
            break
    return order[:limit]


def closest(
    texts: Sequence[str], others: Sequence[str], limit: int, meanings: EmbeddingCache
) -> list[int]:
    """Find the texts that may repeat or contradict one of `others`.

    Two texts are close if their meanings are similar, or if they share many words; rare words count
    more. Only a reader can decide whether close texts agree or contradict each other.

    Args:
        texts: The texts to choose from, newest first.
        others: The texts to compare with; if there are very many, only the longest ones are used.
        meanings: The vectors of texts.

    Returns:
        Indexes into `texts`, closest first.
    """
    if not texts or not others:
        return []
    others = sorted(others, key=len, reverse=True)[: max(MAX_COMPARED // len(texts), 1)]
    vectors = meanings.of([*others, *texts])
    asked, known = vectors[: len(others)], vectors[len(others) :]
    stems = [frozenset(stems_of(text)) for text in texts]
    wanted = [frozenset(stems_of(other)) for other in others]
    rarity: dict[str, float] = {}
    for each in stems:
        for stem in each:
            rarity[stem] = rarity.get(stem, 0.0) + 1.0
    rarity = {stem: 1 / count for stem, count in rarity.items()}
    scored: list[tuple[float, int]] = []
    for position, own in enumerate(stems):
        whole = sum(rarity[stem] for stem in own) or 1.0
        shared = max(sum(rarity[stem] for stem in own & each) for each in wanted) / whole
        meaning = max(cosine(known[position], vector) for vector in asked)
        score = max(shared - SHARED, meaning - CLOSE)
        if score >= 0:
            scored.append((-score, position))
    return [position for _, position in sorted(scored)[:limit]]


def _telling(query: str, wanted: Sequence[str]) -> frozenset[str]:
    """Return the words of a query that are not fillers, or all words if there are only fillers.

    A capitalized filler, such as Will or US, counts as a name unless it is the first word.
    """
    names = {
        word
        for token in query.split()[1:]
        if token[0].isupper() and len(token) > 1
        for word in words_of(token)
    }
    telling = frozenset(word for word in wanted if word not in fillers() or word in names)
    return telling or frozenset(wanted)


def _tiers(
    words: Sequence[Sequence[str]],
    wanted: Sequence[str],
    telling: frozenset[str],
    vectors: Sequence[Vector] | None,
) -> Iterator[list[int]]:
    """Yield the indexes of the matching texts for each kind of match, the best kind first."""
    by_word = _by_bm25(words, wanted)
    yield [position for position in by_word if not telling.isdisjoint(words[position])]
    asked = list(
        dict.fromkeys(stem_of(word) for word in wanted if word in telling and has_stem(word))
    )
    if asked:
        yield _by_bm25(
            [[stem_of(word) for word in each if has_stem(word)] for each in words], asked
        )
    if vectors is not None:
        scored = [(-cosine(vectors[0], vector), at) for at, vector in enumerate(vectors[1:])]
        yield [at for score, at in sorted(scored) if -score >= ALIKE]
    yield by_word


def _by_bm25(words: Sequence[Sequence[str]], wanted: Sequence[str]) -> list[int]:
    """Return the indexes of the texts that contain a wanted word, best first."""
    if not wanted:
        return []
    # Imported here, because only searches need lunr and a cold start should not wait for it.
    from lunr.builder import Builder  # noqa: PLC0415

    builder = Builder()
    builder.field("words")
    for position, of_text in enumerate(words):
        builder.add({"id": position, "words": list(of_text)})
    index = builder.build()
    asked = index.create_query()
    for word in wanted:
        asked.term(word, use_pipeline=False)
    found = [(-match["score"], int(match["ref"])) for match in index.query(asked)]
    return [position for _, position in sorted(found)]


def _newest_of_like(
    tier: Sequence[int],
    words: Sequence[Sequence[str]],
    telling: frozenset[str],
    vectors: Sequence[Vector] | None,
    limit: int,
) -> list[int]:
    """Group the texts of a tier by subject, best group first; in a group, newest text first."""
    if vectors is None:
        return list(tier)
    left = list(tier)
    order: list[int] = []
    shared = {position: telling.intersection(words[position]) for position in tier}
    while left and len(order) < limit:
        best = left[0]
        like = {
            position
            for position in left
            if shared[position] == shared[best]
            and cosine(vectors[position + 1], vectors[best + 1]) >= SAME_SUBJECT
        } | {best}
        order += sorted(like)
        left = [position for position in left if position not in like]
    return order
