"""The kinds of facts that a query asks for, and the messages that state such facts.

English only; in other languages, no kind of fact is recognised.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from skein.services.common.words import stems_of

_ASKS_TIME = re.compile(
    r"\b(when|how long|(which|what) (year|month|week|day|date|time))\b", re.IGNORECASE
)
_TIMES = (
    "yesterday today tonight tomorrow last next ago recently night morning afternoon evening day"
    " week weekend month year monday tuesday wednesday thursday friday saturday sunday january"
    " february march april june july august september october november december"
)


def asks_time(text: str) -> bool:
    """Return whether a text asks when something happened."""
    return _ASKS_TIME.search(text) is not None


def names_time(stems: Iterable[str]) -> bool:
    """Return whether a message with these stems names a time or contains digits."""
    wanted = _time_stems()
    return any(stem in wanted or stem[0].isdigit() for stem in stems)


@lru_cache(maxsize=1)
def _time_stems() -> frozenset[str]:
    return frozenset(stems_of(_TIMES))
