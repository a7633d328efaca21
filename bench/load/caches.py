"""The hit rate of the context caches, from the metrics in the containers' log."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HITS, MISSES, ABSENT = "ContextCacheHits", "ContextCacheMisses", "ContextCacheAbsent"
COUNTED = (HITS, MISSES, ABSENT)
LEAST = 0.8
NAME = f"parts of active conversations from the context cache, above {LEAST:.0%}"


@dataclass(frozen=True)
class Lookups:
    """How often containers looked for a part of a context in their cache.

    Attributes:
        hits: Lookups that the cache served.
        absent: Lookups of a part that the container had not cached: it had not read the part in the
            last minutes, or had dropped it for lack of room.
        outdated: Lookups of a cached part that could no longer be used: a memory was written,
            messages were erased, or the history moved past the cached messages.
    """

    hits: float
    absent: float
    outdated: float

    @property
    def rate(self) -> float | None:
        """The share of all lookups that the cache served; None without lookups."""
        return _share(self.hits, self.hits + self.absent + self.outdated)

    @property
    def active_rate(self) -> float | None:
        """The rate in active conversations: of parts that the container had cached before."""
        return _share(self.hits, self.hits + self.outdated)


def lookups(lines: Iterable[str]) -> Lookups:
    """Count the lookups that are reported by the metrics in a log."""
    counts = Counter[str]()
    for line in lines:
        if any(name in line for name in COUNTED):
            counts.update(_counted(line))
    outdated = counts[MISSES] - counts[ABSENT]
    return Lookups(hits=counts[HITS], absent=counts[ABSENT], outdated=outdated)


def lookups_in(log: Path) -> Lookups:
    """Return the lookups of a log file; see `lookups`."""
    with log.open(encoding="utf-8", errors="replace") as lines:
        return lookups(lines)


def told(found: Lookups | None) -> list[list[str]]:
    """Return the rows of the table of figures; the first has the verdict.

    The verdict is about the rate in active conversations, because no cache can serve a container's
    first read of a chat. The rate of all lookups depends on the number of containers, and on how
    often each person writes (about four times).
    """
    if found is None or found.rate is None:
        return [[NAME, "", "", "", "not measured"]]
    return [
        [NAME, "", "", "", _judged(found.active_rate)],
        ["all parts, with first readings", "", "", "", f"{found.rate:.1%}"],
        ["parts that the container had not cached", "", "", "", f"{found.absent:.0f}"],
        ["cached parts of no more use", "", "", "", f"{found.outdated:.0f}"],
    ]


def _judged(rate: float | None) -> str:
    if rate is None:
        return "no active conversation"
    return f"{rate:.1%}, {'pass' if rate > LEAST else 'FAIL'}"


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _counted(line: str) -> dict[str, float]:
    """Return the counts in a line of the embedded metric format; an empty dict for another line."""
    try:
        found = json.loads(line[line.index("{") :])
    except ValueError:
        return {}
    values = {name: found[name] for name in COUNTED if name in found}
    return {
        name: sum(value) if isinstance(value, list) else value for name, value in values.items()
    }
