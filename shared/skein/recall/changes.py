"""Changes of facts: a newer statement follows the older one that it replaces.

An answer from an older statement alone would be wrong. A newer statement replaces an older one if
both are of the same sender, share a rare word, and the newer one has a word of change, such as
"now" or "no longer". The words are English.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from skein.recall.layout import RecalledEntry
from skein.recall.words import stems_of

FOLLOWED = 12  # best entries that a newer one may follow
MAX_USES = 4  # statements of a person that hold a word by which two are about the same
_CHANGE = re.compile(
    r"\b(now|no longer|any ?more|instead|from (now|today|then) on|gave up|changed?|moved|switched"
    r"|cancell?ed|closed|takes longer|since then)\b",
    re.IGNORECASE,
)


def with_newer(
    shown: Sequence[RecalledEntry], read: Sequence[RecalledEntry]
) -> list[RecalledEntry]:
    """Return entries, each with the newer statement that replaces it right after it.

    Args:
        shown: The entries that match, best first, each with one passage.
        read: All entries that were read, best first. A newer statement may be among them that does
            not match well enough on its own.
    """
    stems = [frozenset(stems_of(entry.text)) for entry in read]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for entry, one in zip(read, stems, strict=True):
        counts[entry.message.sender.id].update(one)
    changes = [number for number, entry in enumerate(read) if _CHANGE.search(entry.text)]
    found: dict[tuple[str, int, int], RecalledEntry] = {}
    for number, entry in enumerate(shown):
        found.setdefault(_identity(entry), entry)
        if number >= FOLLOWED:
            continue
        said = counts[entry.message.sender.id]
        own = frozenset(stem for stem in stems_of(entry.text) if said[stem] <= MAX_USES)
        about = [
            (sum(1 / said[stem] for stem in own & stems[other]), -other)
            for other in changes
            if own & stems[other] and _is_newer(read[other], entry)
        ]
        if about:
            newer = read[-max(about)[1]]
            found.setdefault(_identity(newer), newer)
    return list(found.values())


def _identity(entry: RecalledEntry) -> tuple[str, int, int]:
    return entry.message.chat_id, entry.message.seq, entry.parts[0].start


def _is_newer(one: RecalledEntry, other: RecalledEntry) -> bool:
    same = one.message.sender.id == other.message.sender.id
    return same and one.message.created_at > other.message.created_at
