"""Search for memories by their words: BM25, newest first among equal scores."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from skein.models.common.ownership import Reach
from skein.models.memory.memory import Memory
from skein.ports import Clock, Table
from skein.services.memory.store import searchable_memories

MAX_WORDS = 100  # words of a query that count
MIN_STEMMED = 3  # letters; shorter words have no stem
# Scripts without spaces between words, by the prefix of their characters' Unicode names.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearch:
    """Search over the agents' memories."""

    table: Table
    clock: Clock

    def search(self, reach: Reach, query: str, *, limit: int) -> list[Memory]:
        """Find the memories within reach that best match a query, best first.

        Args:
            reach: The agent, the scopes and the readers; faded journal entries are left out.
            query: The words to search for. Each word that a memory contains raises its score; rare
                words raise the score more.
            limit: Maximum number of memories to return.
        """
        memories = searchable_memories(self.table, reach, now=self.clock.now())
        return best_of(memories, query, limit)


def best_of(memories: Sequence[Memory], query: str, limit: int) -> list[Memory]:
    """Rank the memories that share words with a query, best first.

    Memories that share only an English stem follow after all of these: the query `swimming` also
    finds `swims`. So stems never displace a match by word.
    """
    wanted = list(dict.fromkeys(words_of(query)))[:MAX_WORDS]
    words = [list(words_of(memory.text)) for memory in memories]
    found = [memories[position] for position in _ranked(memories, words, wanted)]
    stems = _Stems()
    if len(found) >= limit or not any(map(stems.has, wanted)):
        return found[:limit]
    known = {memory.id for memory in found}
    others = [position for position, memory in enumerate(memories) if memory.id not in known]
    rest = [memories[position] for position in others]
    stemmed = [
        [stems.of(word) for word in words[position] if stems.has(word)] for position in others
    ]
    asked = list(dict.fromkeys(stems.of(word) for word in wanted if stems.has(word)))
    return [*found, *(rest[position] for position in _ranked(rest, stemmed, asked))][:limit]


def _ranked(
    memories: Sequence[Memory], words: Sequence[Sequence[str]], wanted: Sequence[str]
) -> list[int]:
    """Return the indexes of the memories that contain a wanted word, best first."""
    if not wanted or not memories:
        return []
    # Imported here, because only searches need lunr and a cold start should not wait for it.
    from lunr.builder import Builder  # noqa: PLC0415

    builder = Builder()
    builder.field("words")
    for position, said in enumerate(words):
        builder.add({"id": position, "words": list(said)})
    index = builder.build()
    asked = index.create_query()
    for word in wanted:
        asked.term(word, use_pipeline=False)
    found = [(match["score"], int(match["ref"])) for match in index.query(asked)]
    found.sort(key=lambda one: (one[0], *memories[one[1]].age), reverse=True)
    return [position for _, position in found]


class _Stems:
    """Cache of the stems of English words; words in other scripts have no stem."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._stem: Callable[[str], str] | None = None

    def has(self, word: str) -> bool:
        """Tell whether a word has a stem: ASCII letters only, at least 3 of them."""
        return len(word) >= MIN_STEMMED and word.isascii() and word.isalpha()

    def of(self, word: str) -> str:
        """Return a word's stem by Porter's algorithm; a stem need not be a word."""
        if self._stem is None:
            from lunr.stemmer import PorterStemmer  # noqa: PLC0415

            self._stem = PorterStemmer().stem
        if word not in self._known:
            self._known[word] = self._stem(word)
        return self._known[word]


def words_of(text: str) -> Iterator[str]:
    """Split a text in any language into words and numbers, ignoring case and width.

    In scripts without spaces, each character and each pair of adjacent characters is a word.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    for kind, characters in groupby(folded, _kind_of):
        if kind == "word":
            yield "".join(characters)
        elif kind == "unspaced":
            run = list(characters)
            yield from run
            yield from (one + other for one, other in pairwise(run))


def _kind_of(character: str) -> str:
    """Classify a character as part of a `word`, as `unspaced` script, or as `between` words."""
    if character.isascii():
        return "word" if character.isalnum() else "between"
    if unicodedata.category(character)[0] not in "LMN":
        return "between"
    return "unspaced" if unicodedata.name(character, "").startswith(UNSPACED) else "word"
