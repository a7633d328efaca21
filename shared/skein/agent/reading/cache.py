"""What a container has read before and need not read again: memories, and messages of a window.

Nothing in it is ever stale. Each entry says which state of the table it is of: memories by the
revision of their partition, which every change raises and which is read anew at each turn; messages
by their chat's epoch, which an erasure raises, and only what is newer is ever read after them. What
is kept saves bytes, never freshness.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from cachetools import TLRUCache

from skein.models.chat import Chat, Message, chat_partition
from skein.models.memory import LIVE, REVISION
from skein.models.ownership import owned_partition
from skein.models.storage import Item, has_expired
from skein.ports import Clock, Metrics, Table
from skein.services.config.resolution import EffectiveSettings
from skein.services.memory.store import live_items, owned_items

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


LATE_MESSAGES = 5  # that may have come since the chat was read


class KeptReads:
    """Reads for one context, and in the end keeps what may serve the next one.

    Args:
        table: Where everything is.
        cache: What is known already.
        now: The present; what has expired by then is not known any more.
    """

    def __init__(self, table: Table, cache: ContextCache, *, now: datetime) -> None:
        self._table = table
        self._cache = cache
        self._now = now
        self._hits: list[str] = []
        self._read: dict[str, tuple[object, Sequence[Item]]] = {}

    def owned(self, tenant: str, agent_id: str, scope: str | None) -> Sequence[Item]:
        """What an agent owns in one partition and a prompt may show: one query.

        A second one follows where its memories have changed since they were kept.
        """
        name = f"memories|{owned_partition(tenant, agent_id, scope)}"
        kept = self._cache.get(name)
        items = owned_items(self._table, tenant, agent_id, scope, memories=kept is None)
        revision = next((item["revision"] for item in items if item["sk"] == REVISION), 0)
        if kept is not None and kept.state == revision:
            self._hits.append(name)
            return [*items, *kept.read()]
        if kept is None:
            memories = [item for item in items if LIVE.holds(item)]
        else:
            memories = list(live_items(self._table, tenant, agent_id, scope))
            items = [*items, *memories]
        self._read[name] = (revision, memories)
        return items

    def messages(self, chat: Chat, start: int) -> list[Item]:
        """The messages of a chat from number `start` on, oldest first: one query.

        Only what is newer than the newest that is known is read.
        """
        name = f"messages|{chat_partition(chat.tenant, chat.id)}"
        kept = self._cache.get(name)
        known = kept.read() if kept is not None and kept.state == chat.epoch else []
        if known and not known[0]["seq"] <= start <= known[-1]["seq"] + 1:
            known = []
        if known:
            self._hits.append(name)
        after = known[-1]["seq"] + 1 if known else start
        page = self._table.query(
            chat_partition(chat.tenant, chat.id),
            first=Message.key_of(chat.tenant, chat.id, after).sk,
            last=Message.PREFIX.last,
            limit=max(chat.last_seq - after + 1, 0) + LATE_MESSAGES,
        )
        shown = (item for item in known if item["seq"] >= start)
        items = [item for item in shown if not has_expired(item, self._now)] + list(page.items)
        self._read[name] = (chat.epoch, items)
        return items

    def keep(self, effective: EffectiveSettings) -> None:
        """Keep what was read for as long as the agent's settings say, or nothing of it."""
        if effective.context_caching:
            for name, (state, items) in self._read.items():
                self._cache.put(name, state, items, seconds=effective.context_cache_seconds)
        else:
            for name in {*self._read, *self._hits}:
                self._cache.drop(name)
        misses = len(self._read.keys() - set(self._hits))
        self._cache.count(hits=len(self._hits), misses=misses)
