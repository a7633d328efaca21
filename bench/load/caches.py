"""The hit rate of the context caches, from the metrics in the containers' log."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HITS, MISSES, ABSENT = "ContextCacheHits", "ContextCacheMisses", "ContextCacheAbsent"
COUNTED = (HITS, MISSES, ABSENT)
LEAST = 0.8
NAME = f"parts of contexts from the cache, above {LEAST:.0%}"


@dataclass(frozen=True)
class Lookups:
    """How often containers looked for a part of a context in their cache.

    Attributes:
        hits: Lookups that the cache served.
        absent: Lookups of a part that the container had not cached: it had not read the part in the
            last minutes, or had dropped it for lack of room.
        changed: Lookups of a cached part that no longer served: a memory was written, or a chat's
            messages were erased or ended.
    """

    hits: float
    absent: float
    changed: float

    @property
    def rate(self) -> float | None:
        """The share of all lookups that the cache served; None without lookups."""
        return _share(self.hits, self.hits + self.absent + self.changed)

    @property
    def kept_rate(self) -> float | None:
        """The share of the lookups of cached parts that the cache served; None without any."""
        return _share(self.hits, self.hits + self.changed)


def lookups(lines: Iterable[str]) -> Lookups:
    """Return the lookups that the metrics in a log count."""
    counts = Counter[str]()
    for line in lines:
        if any(name in line for name in COUNTED):
            counts.update(_counted(line))
    changed = counts[MISSES] - counts[ABSENT]
    return Lookups(hits=counts[HITS], absent=counts[ABSENT], changed=changed)


def lookups_in(log: Path) -> Lookups:
    """Return the lookups of a log file; see `lookups`."""
    with log.open(encoding="utf-8", errors="replace") as lines:
        return lookups(lines)


def told(found: Lookups | None) -> list[list[str]]:
    """Return the rows of the table of figures; the first has the verdict.

    It is no check of the run: a person's next message often reaches a container that has not seen
    the person yet, so the rate falls with the number of containers.
    """
    if found is None or found.rate is None:
        return [[NAME, "", "", "", "not measured"]]
    verdict = "pass" if found.rate > LEAST else "FAIL"
    kept = "none" if found.kept_rate is None else f"{found.kept_rate:.1%}"
    return [
        [NAME, "", "", "", f"{found.rate:.1%}, {verdict}"],
        ["parts that the container had cached before, served", "", "", "", kept],
        ["parts that the container had not cached", "", "", "", f"{found.absent:.0f}"],
        ["cached parts that had changed", "", "", "", f"{found.changed:.0f}"],
    ]


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _counted(line: str) -> dict[str, float]:
    """Return the counts of a line in the embedded metric format; none if it has another form."""
    try:
        found = json.loads(line[line.index("{") :])
    except ValueError:
        return {}
    values = {name: found[name] for name in COUNTED if name in found}
    return {
        name: sum(value) if isinstance(value, list) else value for name, value in values.items()
    }
