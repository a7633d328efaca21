"""Find the start of an unfinished text that people may read while the model writes the rest.

Words that can still become a label or the silence token (`spoken_text.py`) are held back.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import regex

from skein.agent.spoken_text import (
    AROUND,
    INVISIBLE,
    MAX_LABELS,
    ROUND_TOKEN,
    TOKEN,
    WRAPPERS,
    bare,
    label_forms,
    label_pattern,
    labels_of,
    without_silence,
)

SQUARE_BRACKETS = "[\uff3b\u3010"
_OPENING = re.compile(r"[\[\uff3b\u3010({<\uff08]")


def spoken_start(text: str, names: Iterable[str]) -> str:
    """Return the start of an unfinished text that people may read, whatever follows.

    Words are held back if they can still become a label or the silence token, or a part of it.

    Args:
        text: The text of the model so far.
        names: The names in the prompt; see `participants.speakers_in`.

    Returns:
        A prefix of what `spoken` returns for the whole text; '' if nothing is certain yet.
    """
    rest = _after_labels(text.strip(), frozenset(names))
    end = _certain_end(rest)
    return without_silence(rest[:end])


def _after_labels(text: str, names: frozenset[str]) -> str:
    """Return an unfinished text without labels; '' if a label can still begin or continue."""
    whole, unfinished = labels_of(names), _unfinished_labels_of(names)
    for _ in range(MAX_LABELS):
        start = text.lstrip(f"{INVISIBLE} \t\r\n")
        tries = [pattern.match(start, partial=True) for pattern in unfinished]
        if any(one is not None and one.partial for one in tries):
            return ""
        found = whole.match(start)
        if found is None:
            break
        text = start[found.end() :].lstrip()
        if not text or (found["entry"] and text.startswith('"')):  # quotes end with the whole text
            return ""
    return text


def _certain_end(text: str) -> int:
    """Return how many characters of an unfinished text can be shown.

    The remaining characters may be the start of a silence token, which is never shown.
    """
    token, round_token = _unfinished_tokens()
    end = len(text)
    for bracket in _OPENING.finditer(text):
        pattern = token if bracket[0] in SQUARE_BRACKETS else round_token
        alone = pattern is token or not bare(text[: bracket.start()])
        if alone and pattern.fullmatch(text, bracket.start(), partial=True):
            end = bracket.start()
            break
    while True:
        end = len(text[:end].rstrip(f"{INVISIBLE}{WRAPPERS} \t\r\n\v\f\u2028\u2029\x85"))
        line = (text[:end].splitlines() or [""])[-1]
        if not line or bare(line):
            return end
        end -= len(line)


@lru_cache(maxsize=64)
def _unfinished_labels_of(names: frozenset[str]) -> tuple[Any, ...]:
    """Return a pattern for each form of a label, which also matches an unfinished label.

    The beginning of one form can match another form, so each form is tried separately. The library
    `regex` is used because it can tell a partial match from no match.
    """
    return tuple(regex.compile(label_pattern(form)) for form in label_forms(names))


@lru_cache(maxsize=1)
def _unfinished_tokens() -> tuple[Any, Any]:
    """Return the patterns of an unfinished silence token, in square and in other brackets."""
    after = rf"[\s{re.escape(AROUND)}]*"
    square, other = TOKEN.pattern, ROUND_TOKEN.pattern
    return tuple(
        regex.compile(rf"(?:{token}{after})+", regex.IGNORECASE) for token in (square, other)
    )
