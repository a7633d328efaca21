"""The kinds of facts that a query asks for, and the messages that state such facts.

English only; a query in another language asks for no kind of fact.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from skein.recall.words import stems_of

_ASKS_TIME = re.compile(
    r"\b(when|how long|(which|what) (year|month|week|day|date|time))\b", re.IGNORECASE
)
_ASKS_NUMBER = re.compile(r"\bhow (many|much|often|old|far|big)\b", re.IGNORECASE)
_TIMES = (
    "yesterday today tonight tomorrow last next ago recently night morning afternoon evening day"
    " week weekend month year monday tuesday wednesday thursday friday saturday sunday january"
    " february march april june july august september october november december"
)
_NUMBERS = (
    "one two three four five six seven eight nine ten dozen hundred thousand first second third"
    " once twice couple few several"
)
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


def asks_time(text: str) -> bool:
    """Tell whether a text asks when something was."""
    return _ASKS_TIME.search(text) is not None


def asks_number(text: str) -> bool:
    """Tell whether a text asks how many or how much."""
    return _ASKS_NUMBER.search(text) is not None


def names_time(stems: Iterable[str]) -> bool:
    """Tell whether a message with these stems names a time or holds digits."""
    return _any_of(stems, _time_stems())


def names_number(stems: Iterable[str]) -> bool:
    """Tell whether a message with these stems names a number or holds digits."""
    return _any_of(stems, _number_stems())


def ends_with_question(text: str) -> bool:
    """Tell whether the last sentence of a text is a question."""
    return text.rstrip().endswith(_QUESTION_MARKS)


def _any_of(stems: Iterable[str], wanted: frozenset[str]) -> bool:
    return any(stem in wanted or stem[0].isdigit() for stem in stems)


@lru_cache(maxsize=1)
def _time_stems() -> frozenset[str]:
    return frozenset(stems_of(_TIMES))


@lru_cache(maxsize=1)
def _number_stems() -> frozenset[str]:
    return frozenset(stems_of(_NUMBERS))
