"""Changes of facts: a newer statement follows the older one that it replaces.

An answer based only on the older statement would be wrong, so recall shows both. A newer statement
replaces an older one if both come from the same sender and share a rare word, and the newer one
signals a change. The signal is an English word such as "now" or "no longer", or a different number
before the rare word, as in "16 kilos" after "25 kilos".
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from skein.recall.layout import RecalledEntry
from skein.services.common.words import stems_of

FOLLOWED = 12  # best entries that a newer statement may follow
MAX_USES = 4  # statements of a person that may contain a word for it to count as rare
_CHANGE = re.compile(
    r"\b(now|no longer|any ?more|instead|from (now|today|then) on|gave up|changed?|moved|switched"
    r"|cancell?ed|closed|new|earlier|later|takes longer|since then)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(\d[\d.,:]*)[ -]?([^\W\d_]+(?:['\u2019][^\W\d_]+)?)")


class ReadPassage(NamedTuple):
    """A passage that was read: its entry, and the stems of its words."""

    entry: RecalledEntry
    stems: frozenset[str]


def with_newer(shown: Sequence[ReadPassage], read: Sequence[ReadPassage]) -> list[RecalledEntry]:
    """Return the matching statements, each followed by the newer statement that replaces it.

    Args:
        shown: The statements that match the query, best first, each with one passage.
        read: All statements that were read, best first, including those that do not match well
            enough to be shown on their own.
    """
    uses: dict[str, Counter[str]] = defaultdict(Counter)
    for one in read:
        uses[one.entry.message.sender.id].update(one.stems)
    found: dict[tuple[str, int, int], RecalledEntry] = {}
    for number, older in enumerate(shown):
        found.setdefault(_identity(older.entry), older.entry)
        if number < FOLLOWED:
            said = uses[older.entry.message.sender.id]
            rare = frozenset(stem for stem in older.stems if said[stem] <= MAX_USES)
            newer = [
                (sum(1 / said[stem] for stem in rare & other.stems), -position)
                for position, other in enumerate(read)
                if _replaces(other, older, rare & other.stems)
            ]
            if newer:
                entry = read[-max(newer)[1]].entry
                found.setdefault(_identity(entry), entry)
    return list(found.values())


def _replaces(newer: ReadPassage, older: ReadPassage, shared: frozenset[str]) -> bool:
    """Return whether a statement replaces an older one with which it shares rare stems."""
    one, other = newer.entry, older.entry
    same_sender = one.message.sender.id == other.message.sender.id
    if not shared or not same_sender or one.message.created_at <= other.message.created_at:
        return False
    if _CHANGE.search(one.text):
        return True
    before, after = _numbers(other.text), _numbers(one.text)
    counted = shared & before.keys() & after.keys()
    return any(before[stem] != after[stem] for stem in counted)


def _numbers(text: str) -> dict[str, str]:
    """Return the first number before each word of a text, by the stem of the word."""
    found: dict[str, str] = {}
    for number, word in _NUMBER.findall(text):
        for stem in stems_of(word):
            found.setdefault(stem, number)
    return found


def _identity(entry: RecalledEntry) -> tuple[str, int, int]:
    return *entry.ref, entry.parts[0].start
