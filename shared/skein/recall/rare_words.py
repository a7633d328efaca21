"""Rare words of a message: names, numbers and words outside the common vocabulary.

Each rare word gets a posting, so the number of rare words is limited. They are chosen by the text
alone, without a read of the table.
"""

import re
from collections.abc import Iterator

from skein.ports import Vocabulary
from skein.services.common.words import fillers, stem_of, words_of

LEAST, MOST = 6, 24  # minimum and maximum number of rare words of a message
WORDS_EACH = 25  # words of a message that allow one more rare word
MAX_LETTERS = 64  # longest rare word; longer words are usually keys and addresses

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = frozenset('.!?:\n"\u201c(')


def rare_stems(text: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the stems of a text's rare words: first numbers, then names, then other words.

    A word with a capital letter inside a sentence counts as a name. In scripts without spaces,
    where single characters are words, only numbers and words in other scripts count.

    Returns:
        At most 6 stems of a short text. Each 25 words of the text allow one more, up to 24 stems in
        all.
    """
    names = set(_names_in(text))
    ranked: list[tuple[int, str]] = []
    count = 0
    for word in words_of(text):
        count += 1
        if len(word) > MAX_LETTERS or word in fillers():
            continue
        if any(character.isdigit() for character in word):
            ranked.append((0, word))
        elif word in names:
            ranked.append((1, word))
        elif len(word) > 1 and _spaced(word) and not vocabulary.holds(word):
            ranked.append((2, word))
    stems = dict.fromkeys(stem_of(word) for _, word in sorted(ranked, key=lambda pair: pair[0]))
    return tuple(stems)[: min(MOST, LEAST + count // WORDS_EACH)]


def _names_in(text: str) -> Iterator[str]:
    """Yield the capitalised words that do not begin a sentence, in lower case."""
    end = 0
    for match in _WORD.finditer(text):
        between = text[end : match.start()]
        if end and match[0][0].isupper() and _SENTENCE_END.isdisjoint(between):
            yield from words_of(match[0])
        end = match.end()


def _spaced(word: str) -> bool:
    """Return whether a word comes from a script with spaces between words."""
    return word.isascii() or len(list(words_of(word))) == 1
