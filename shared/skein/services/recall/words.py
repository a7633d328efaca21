"""The words of a text by which recall finds it: stems and numbers, without fillers."""

from collections.abc import Callable
from functools import lru_cache

from skein.services.memory.search import words_of

MIN_STEMMED = 3  # letters; shorter words have no stem


def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words, and its numbers, in order and without fillers.

    English words have stems by Porter's algorithm. Words of other languages stay as they are. In
    scripts without spaces, each character and each pair of adjacent characters is a word.
    """
    left_out = fillers()
    return tuple(stem_of(word) for word in words_of(text) if word not in left_out)


@lru_cache(maxsize=10_000)
def stem_of(word: str) -> str:
    """Return the stem of an English word in lower case; other words stay as they are."""
    if len(word) < MIN_STEMMED or not (word.isascii() and word.isalpha()):
        return word
    return _stemmer()(word)


@lru_cache(maxsize=1)
def fillers() -> frozenset[str]:
    """Return the English words that say nothing about the subject of a text."""
    from lunr.stop_word_filter import WORDS  # noqa: PLC0415

    return frozenset(WORDS)


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    # Imported here, because only recall and searches need lunr.
    from lunr.stemmer import PorterStemmer  # noqa: PLC0415

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem
