"""What a container has read before and need not read again: memories, and messages of a window.

Nothing in it is ever stale. Each entry says which state of the table it is of: memories by the
revision of their partition, which every change raises and which is read anew at each turn; messages
by their chat's epoch, which an erasure raises, and only what is newer is ever read after them.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

from cachetools import TLRUCache

from skein.models.storage import Item
from skein.ports import Clock, Metrics

ENTRY_BYTES = 600  # of an entry and its key, beside the items
ITEM_BYTES = 80  # of an item, beside its own text


@dataclass(frozen=True, slots=True)
class Entry:
    """Some items as they were read.

    Attributes:
        state: Of what state of the table they are.
        items: Each as JSON: small, of a known size, and nobody can change it.
        seconds: How long it is kept.
    """

    state: object
    items: tuple[bytes, ...]
    seconds: int

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return ENTRY_BYTES + sum(len(item) + ITEM_BYTES for item in self.items)

    def read(self) -> list[Item]:
        """The items."""
        return [json.loads(item) for item in self.items]


class ContextCache:
    """Keeps what was read, the least recently used giving way.

    Args:
        clock: The time, by which entries expire.
        metrics: Counts how often something was there.
        max_bytes: How much memory all entries may take together.
    """

    def __init__(self, *, clock: Clock, metrics: Metrics, max_bytes: int) -> None:
        self._metrics = metrics
        self._lock = Lock()  # a cache that orders its entries is changed by every look at it
        self._entries: TLRUCache[str, Entry] = TLRUCache(
            max_bytes,
            ttu=lambda _, entry, now: now + entry.seconds,
            timer=lambda: clock.now().timestamp(),
            getsizeof=lambda entry: entry.size,
        )

    @property
    def size(self) -> int:
        """About how many bytes all entries take."""
        with self._lock:
            return int(self._entries.currsize)

    def get(self, name: str) -> Entry | None:
        """What is kept under a name, of whatever state."""
        with self._lock:
            return self._entries.get(name)

    def put(self, name: str, state: object, items: Sequence[Item], *, seconds: int) -> None:
        """Keep items for so long; what is larger than the whole cache is not kept."""
        entry = Entry(state, tuple(_packed(items)), seconds)
        with self._lock:
            self._entries.pop(name, None)
            if entry.size <= self._entries.maxsize:
                self._entries[name] = entry

    def drop(self, name: str) -> None:
        """Keep nothing under a name any more."""
        with self._lock:
            self._entries.pop(name, None)

    def count(self, *, hits: int, misses: int) -> None:
        """Tell how often something was there, and how often not."""
        if hits:
            self._metrics.count("ContextCacheHits", hits)
        if misses:
            self._metrics.count("ContextCacheMisses", misses)


def _packed(items: Iterable[Item]) -> Iterable[bytes]:
    return (json.dumps(item, separators=(",", ":")).encode() for item in items)
