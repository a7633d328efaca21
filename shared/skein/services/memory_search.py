"""Finds memories by their words: BM25, the newest first where two are equally good."""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from skein.models.intent import Reach
from skein.models.memory import Memory
from skein.ports import Clock, Table
from skein.services.remembering import known_memories

MOST_WORDS = 100  # of a question
# Scripts that set no spaces between words, by the names of their characters.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


class MemorySearch:
    """Searches what agents remember."""

    def __init__(self, *, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def search(self, reach: Reach, query: str, *, limit: int) -> list[Memory]:
        """The memories within reach that best answer a question, the best first.

        Args:
            reach: Whose, and where they are shown; what has faded is left out.
            query: Words; each that stands in a memory counts, rare ones more.
            limit: How many to return at most.
        """
        memories = known_memories(self._table, reach, now=self._clock.now())
        return best_of(memories, query, limit)


def best_of(memories: Sequence[Memory], query: str, limit: int) -> list[Memory]:
    """Those of `memories` that share words with the question, the best first."""
    wanted = list(dict.fromkeys(words_of(query)))[:MOST_WORDS]
    if not wanted or not memories:
        return []
    # Nothing else needs it, and a cold start should not wait for it.
    from lunr.builder import Builder  # noqa: PLC0415

    builder = Builder()
    builder.field("words")
    for place, memory in enumerate(memories):
        builder.add({"id": place, "words": list(words_of(memory.text))})
    index = builder.build()
    asked = index.create_query()
    for word in wanted:
        asked.term(word, use_pipeline=False)
    found = [(match["score"], memories[int(match["ref"])]) for match in index.query(asked)]
    found.sort(key=lambda one: (one[0], *one[1].age), reverse=True)
    return [memory for _, memory in found[:limit]]


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
