"""Limits on reads and frames, which need table calls only for people who read a lot.

Each container counts on its own. The first reads of a person in a minute are free. After that, the
container takes reads from the person's bucket, ten at a time. So the bucket limits a person's reads
in all containers together, apart from the free reads of each container.
"""

import threading
from collections import Counter
from datetime import datetime
from math import ceil

from skein.errors import RateLimited
from skein.ports import Clock
from skein.services.quotas.rate_limits import RateLimiter

FREE_READS = 30  # free reads per minute, for each container
READS_AT_ONCE = 10  # reads that one write takes from the bucket
READS_OF_TICKET = 10  # a ticket counts as 10 reads: it writes an item and opens a connection
MAX_FRAMES = 60  # frames per minute, from one connection to each container


class MinuteCounts:
    """Counts of the current minute in this container."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._minute: datetime | None = None
        self._counts = Counter[str]()
        self._lock = threading.Lock()

    def add(self, what: str, amount: int = 1) -> tuple[int, int]:
        """Add to a count; return the counts before and after."""
        minute = self._clock.now().replace(second=0, microsecond=0)
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, Counter()
            before = self._counts[what]
            self._counts[what] = before + amount
        return before, before + amount


class ReadLimits:
    """The service that limits people's reads."""

    def __init__(self, *, clock: Clock, limiter: RateLimiter) -> None:
        self._counts = MinuteCounts(clock)
        self._limiter = limiter

    def admit(self, tenant: str, user_id: str, reads: int = 1) -> None:
        """Count a person's reads.

        Raises:
            RateLimited: The person's bucket of reads is empty.
        """
        who = f"{tenant} {user_id}"
        before, after = map(_writes, self._counts.add(who, reads))
        if after > before:
            try:
                self._limiter.admit_reads(tenant, user_id, (after - before) * READS_AT_ONCE)
            except RateLimited:
                self._counts.add(who, -reads)  # the next read asks again
                raise


class FrameLimits:
    """The service that limits the frames of a connection."""

    def __init__(self, *, clock: Clock) -> None:
        self._counts = MinuteCounts(clock)

    def admit(self, connection_id: str) -> bool:
        """Count a frame; return whether the connection may send it."""
        return self._counts.add(connection_id)[1] <= MAX_FRAMES


def _writes(reads: int) -> int:
    """Return how many writes to the bucket these reads require."""
    return max(0, ceil((reads - FREE_READS) / READS_AT_ONCE))
