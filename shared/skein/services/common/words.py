"""Split texts in any language into words, and find the stems and fillers of English texts."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby, pairwise

ASCII_WORD = re.compile("[0-9a-z]+")
MIN_STEMMED = 3  # letters; shorter words have no stem
# Scripts without spaces between words, by the prefix of their characters' Unicode names.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def words_of(text: str) -> Iterator[str]:
    """Split a text in any language into words and numbers, ignoring case and width.

    In scripts without spaces, each character and each pair of adjacent characters is a word.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    for token in folded.split():
        if token.isascii():  # most tokens are, and this is much faster
            yield from ASCII_WORD.findall(token)
        else:
            yield from _words_of_token(token)


def _words_of_token(token: str) -> Iterator[str]:
    for kind, characters in groupby(token, _kind_of):
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


def has_stem(word: str) -> bool:
    """Return whether a word can have an English stem: at least 3 letters, all of them ASCII."""
    return len(word) >= MIN_STEMMED and word.isascii() and word.isalpha()


@lru_cache(maxsize=10_000)
def stem_of(word: str) -> str:
    """Return the stem of an English word in lower case; other words are returned unchanged."""
    return _stemmer()(word) if has_stem(word) else word


def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words, and its numbers, in order and without fillers.

    Words in other languages than English are returned unchanged.
    """
    left_out = fillers()
    return tuple(stem_of(word) for word in words_of(text) if word not in left_out)


@lru_cache(maxsize=1)
def fillers() -> frozenset[str]:
    """Return the English stop words, which say nothing about the subject of a text."""
    from lunr.stop_word_filter import WORDS  # noqa: PLC0415

    return frozenset(WORDS)


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    # Imported here, because only recall and searches need lunr.
    from lunr.stemmer import PorterStemmer  # noqa: PLC0415

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem
