"""The hit rate of the context caches, from the metrics in the containers' log."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

HITS, MISSES = "ContextCacheHits", "ContextCacheMisses"
LEAST = 0.8
NAME = f"parts of contexts from the cache, above {LEAST:.0%}"


def hit_rate(lines: Iterable[str]) -> float | None:
    """Return the share of the parts of contexts that a container had; None without any."""
    counts = Counter[str]()
    for line in lines:
        if HITS in line or MISSES in line:
            counts.update(_counted(line))
    return counts[HITS] / counts.total() if counts else None


def hit_rate_in(log: Path) -> float | None:
    """Return the hit rate of a log file; see `hit_rate`."""
    with log.open(encoding="utf-8", errors="replace") as lines:
        return hit_rate(lines)


def told(rate: float | None) -> str:
    """Return a hit rate with its verdict, for the table of figures.

    It is no check of the run: a person's next message often reaches a container that has not seen
    the person yet, so the rate falls with the number of containers.
    """
    if rate is None:
        return "not measured"
    return f"{rate:.1%}, {'pass' if rate > LEAST else 'FAIL'}"


def _counted(line: str) -> dict[str, float]:
    """Return the counts of a line in the embedded metric format; none if it has another form."""
    try:
        found = json.loads(line[line.index("{") :])
    except ValueError:
        return {}
    values = {name: found[name] for name in (HITS, MISSES) if name in found}
    return {
        name: sum(value) if isinstance(value, list) else value for name, value in values.items()
    }
