"""Cut a long text between sentences, lines, words or characters."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import takewhile

CUT_MARK = " \u2026"
BEFORE_FULL_STOP = 20  # characters that tell whether a full stop ends a sentence
ZERO_WIDTH_JOINER = "\u200d"
# The second group needs no space after it, because Chinese and Japanese have none. The others are
# the full stops and question marks of Arabic, Urdu, Hindi, Armenian, Amharic, Burmese and Khmer.
SENTENCE_END = re.compile(
    r"[.!?\u2026\u061f\u06d4\u0964\u0965\u0589\u1362\u104b\u17d4]++[\"'\u2019\u201d)\]]*+(?=\s)"
    r"|[\u3002\uff01\uff1f\uff61]++[\u300d\u300f\u201d\u2019\uff09]*+"
)
NEXT_WORD = re.compile(r"\s+(\S)")
LAST_WORD = re.compile(r"(?:^|\W)([^\W\d]\w?)$")
ITEM_NUMBER = re.compile(r"(?:^|\n)[ \t]*\d{1,2}$")
LINE_END = re.compile(r"(?=[\n\r\u2028\u2029])")
WORD_END = re.compile(r"(?=\s)")


def cut_position(text: str, longest: int) -> int:
    """Return the best position, from 1 to `longest`, at which to cut a longer text.

    The cut is after a sentence or else at the end of a line, if that keeps more than half of
    `longest`. Otherwise, the cut is between words, or else between characters. A character is one
    symbol as a reader sees it: an accented letter or a joined emoji is not split, unless it is
    longer than `longest` by itself.
    """
    window = text[: longest + 1]
    for ends in (_sentence_ends, _line_ends, _word_ends):
        found = max(takewhile(lambda end: end <= longest, ends(window)), default=0)
        if found > longest // 2:
            return found
    word_end = max(takewhile(lambda end: end <= longest, _word_ends(window)), default=0)
    return word_end or _character_boundary(text, longest)


def cut_text(text: str, limit: int) -> str:
    """Shorten a text to at most `limit` characters.

    A longer text is cut after a sentence if possible (`cut_position`), and an ellipsis is appended.

    Args:
        limit: The maximum number of characters, at least 4.
    """
    whole = text if len(text) <= limit else text.strip()
    if len(whole) <= limit:
        return whole
    return whole[: cut_position(whole, limit - len(CUT_MARK))].rstrip() + CUT_MARK


def _sentence_ends(window: str) -> Iterator[int]:
    """Yield the positions after the sentences of a text, without knowing its language.

    A full stop does not end a sentence after an initial, a short abbreviation (`Dr.`) or the number
    of a list item, or before a lower-case letter.
    """
    for match in SENTENCE_END.finditer(window):
        if match[0] != "." or not _is_abbreviated(window, match):
            yield match.end()


def _is_abbreviated(window: str, full_stop: re.Match[str]) -> bool:
    following = NEXT_WORD.match(window, full_stop.end())
    if following is not None and following[1].islower():
        return True
    before = window[max(full_stop.start() - BEFORE_FULL_STOP, 0) : full_stop.start()]
    word = LAST_WORD.search(before)
    return (word is not None and word[1][0].isupper()) or ITEM_NUMBER.search(before) is not None


def _line_ends(window: str) -> Iterator[int]:
    return (match.end() for match in LINE_END.finditer(window))


def _word_ends(window: str) -> Iterator[int]:
    return (match.end() for match in WORD_END.finditer(window))


def _character_boundary(text: str, longest: int) -> int:
    """Return the last position up to `longest` that splits no character, or else `longest`."""
    return next(
        (position for position in range(longest, 0, -1) if not _torn(text, position)), longest
    )


def _torn(text: str, position: int) -> bool:
    """Return whether a cut at `position` splits a character (a subset of UAX 29)."""
    before, after = text[position - 1], text[position]
    return (
        ZERO_WIDTH_JOINER in {before, after}
        or unicodedata.category(after) in {"Mn", "Mc", "Me"}
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tags, as in the flags of nations
        or (_regional(after) and _regionals_before(text, position) % 2 == 1)
        or (before == "\r" and after == "\n")
    )


def _regional(character: str) -> bool:
    """Return whether a character is one half of a country's flag."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _regionals_before(text: str, position: int) -> int:
    return sum(1 for _ in takewhile(_regional, reversed(text[:position])))
