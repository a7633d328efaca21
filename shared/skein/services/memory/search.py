"""Finds memories by their words: BM25, the newest first where two are equally good."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from skein.models.memory import Memory
from skein.models.ownership import Reach
from skein.ports import Clock, Table
from skein.services.memory.store import known_memories

MAX_WORDS = 100  # of a question
MIN_STEMMED = 3  # letters
# Scripts that set no spaces between words, by the names of their characters.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearch:
    """Searches what agents remember."""

    table: Table
    clock: Clock

    def search(self, reach: Reach, query: str, *, limit: int) -> list[Memory]:
        """The memories within reach that best answer a question, the best first.

        Args:
            reach: Whose, and where they are shown; what has faded is left out.
            query: Words; each that stands in a memory counts, rare ones more.
            limit: How many to return at most.
        """
        memories = known_memories(self.table, reach, now=self.clock.now())
        return best_of(memories, query, limit)


def best_of(memories: Sequence[Memory], query: str, limit: int) -> list[Memory]:
    """Those of `memories` that share words with the question, the best first.

    Behind them all come those that share no word with it, but the stem of one, in English: who asks
    for `swimming` finds `swims`, too. So what a word finds is never worse for it.
    """
    wanted = list(dict.fromkeys(words_of(query)))[:MAX_WORDS]
    words = [list(words_of(memory.text)) for memory in memories]
    found = [memories[place] for place in _ranked(memories, words, wanted)]
    stems = _Stems()
    if len(found) >= limit or not any(map(stems.has, wanted)):
        return found[:limit]
    known = {memory.id for memory in found}
    others = [place for place, memory in enumerate(memories) if memory.id not in known]
    rest = [memories[place] for place in others]
    stemmed = [[stems.of(word) for word in words[place] if stems.has(word)] for place in others]
    asked = list(dict.fromkeys(stems.of(word) for word in wanted if stems.has(word)))
    return [*found, *(rest[place] for place in _ranked(rest, stemmed, asked))][:limit]


def _ranked(
    memories: Sequence[Memory], words: Sequence[Sequence[str]], wanted: Sequence[str]
) -> list[int]:
    """The places of those in which one of the words stands, the best first."""
    if not wanted or not memories:
        return []
    # Nothing else needs it, and a cold start should not wait for it.
    from lunr.builder import Builder  # noqa: PLC0415

    builder = Builder()
    builder.field("words")
    for place, said in enumerate(words):
        builder.add({"id": place, "words": list(said)})
    index = builder.build()
    asked = index.create_query()
    for word in wanted:
        asked.term(word, use_pipeline=False)
    found = [(match["score"], int(match["ref"])) for match in index.query(asked)]
    found.sort(key=lambda one: (one[0], *memories[one[1]].age), reverse=True)
    return [place for _, place in found]


class _Stems:
    """The stems of English words, each found once; of words in other scripts there are none."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._stem: Callable[[str], str] | None = None

    def has(self, word: str) -> bool:
        """Whether a word may have one; numbers and very short words are what they are."""
        return len(word) >= MIN_STEMMED and word.isascii() and word.isalpha()

    def of(self, word: str) -> str:
        """The stem of a word by Porter's rules, which is no word itself."""
        if self._stem is None:
            from lunr.stemmer import PorterStemmer  # noqa: PLC0415

            self._stem = PorterStemmer().stem
        if word not in self._known:
            self._known[word] = self._stem(word)
        return self._known[word]


def words_of(text: str) -> Iterator[str]:
    """The words and numbers of a text in any language, without case and width.

    Where a script sets no spaces, every character is a word, and so is every two of them.
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
    """Whether a character belongs to a word, is one by itself, or stands between words."""
    if character.isascii():
        return "word" if character.isalnum() else "between"
    if unicodedata.category(character)[0] not in "LMN":
        return "between"
    return "unspaced" if unicodedata.name(character, "").startswith(UNSPACED) else "word"
