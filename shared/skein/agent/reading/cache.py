"""Context cache of a container: an agent's memories, and the messages of a chat.

Cached data is never stale. Memories are cached with the revision of their partition, and every
change of a memory raises this revision. Each turn compares the cached revision with the current
one. Messages are cached with the epoch of their chat, and an erasure raises this epoch. Each turn
reads the messages after the newest cached message. The cache therefore saves bytes, not calls.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from threading import Lock

from cachetools import TLRUCache

from skein.agent.reading.owned_items import live_items, owned_items
from skein.memory.models.memory import Memory
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.choice import Choice
from skein.models.common.storage import Item, Query, has_expired
from skein.models.items.agent_item import REVISION
from skein.models.visibility.ownership import owned_partition
from skein.ports import Clock, Metrics, Table
from skein.settings import Settings

MAX_BYTES = 64_000_000

ENTRY_BYTES = 600  # per entry, with its key and without its items
ITEM_BYTES = 80  # per item, without its own text


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """Cached items, as they were read.

    Attributes:
        state: The revision or the epoch with which the items were read.
        items: The items as JSON, which is compact, immutable and of a known size.
        seconds: The time to live of the entry.
    """

    state: object
    items: tuple[bytes, ...]
    seconds: int

    @property
    def size(self) -> int:
        return ENTRY_BYTES + sum(len(item) + ITEM_BYTES for item in self.items)

    def read(self) -> list[Item]:
        return [json.loads(item) for item in self.items]


class ContextCache:
    """Cache of items from the table, with least-recently-used eviction.

    Args:
        clock: The clock by which entries expire.
        metrics: Where hits and misses are counted.
        max_bytes: The memory limit of all entries together.
    """

    def __init__(self, *, clock: Clock, metrics: Metrics, max_bytes: int = MAX_BYTES) -> None:
        self._metrics = metrics
        self._lock = Lock()  # every lookup changes the order of the entries
        self._entries: TLRUCache[str, CacheEntry] = TLRUCache(
            max_bytes,
            ttu=lambda _, entry, now: now + entry.seconds,
            timer=lambda: clock.now().timestamp(),
            getsizeof=lambda entry: entry.size,
        )

    @property
    def size(self) -> int:
        with self._lock:
            return int(self._entries.currsize)

    def get(self, name: str) -> CacheEntry | None:
        """Return the entry `name`, without checking its state."""
        with self._lock:
            return self._entries.get(name)

    def put(self, name: str, state: object, items: Sequence[Item], *, seconds: int) -> None:
        """Cache items for `seconds`, unless they are larger than the whole cache."""
        entry = CacheEntry(state, tuple(_packed(items)), seconds)
        with self._lock:
            self._entries.pop(name, None)
            if entry.size <= self._entries.maxsize:
                self._entries[name] = entry

    def drop(self, name: str) -> None:
        with self._lock:
            self._entries.pop(name, None)

    def count(self, *, hits: int, misses: int, absent: int) -> None:
        """Count hits and misses as metrics.

        Args:
            hits: How many entries were used.
            misses: How many reads could not use an entry.
            absent: How many of the misses had no entry at all.
        """
        if hits:
            self._metrics.count("ContextCacheHits", hits)
        if misses:
            self._metrics.count("ContextCacheMisses", misses)
        if absent:
            self._metrics.count("ContextCacheAbsent", absent)


def _packed(items: Iterable[Item]) -> Iterable[bytes]:
    return (json.dumps(item, separators=(",", ":")).encode() for item in items)


LATE_ANSWER = timedelta(minutes=1)  # an answer may be stored shortly after the choice expires
LATE_MESSAGES = 5  # spare messages in a query, for messages posted since the chat was read


class KeptReads:
    """Reads the items for one prompt, from the context cache where possible.

    `keep` stores what was read in the cache, for the next prompt.

    Args:
        cache: The context cache.
        now: The current time. Cached messages that have expired by then are ignored.
    """

    def __init__(self, table: Table, cache: ContextCache, *, now: datetime) -> None:
        self._table = table
        self._cache = cache
        self._now = now
        self._hits: list[str] = []
        self._absent: list[str] = []
        self._read: dict[str, tuple[object, Sequence[Item]]] = {}

    def owned(self, tenant: str, agent_id: str, scope: str | None) -> Sequence[Item]:
        """Read an agent's items in one scope with one query.

        If the agent's memories have changed since they were cached, a second query reads the
        memories.
        """
        name = f"memories|{owned_partition(tenant, agent_id, scope)}"
        kept = self._kept(name)
        items = owned_items(self._table, tenant, agent_id, scope, memories=kept is None)
        revision = next(
            (item.get(Memory.COUNTER, 0) for item in items if item["sk"] == REVISION), 0
        )
        if kept is not None and kept.state == revision:
            self._hits.append(name)
            return [*items, *kept.read()]
        if kept is None:
            memories = [item for item in items if Memory.PREFIX.holds(item)]
        else:
            memories = list(live_items(self._table, tenant, agent_id, scope))
            items = [*items, *memories]
        self._read[name] = (revision, memories)
        return items

    def messages(self, chat: Chat, start: int) -> list[Item]:
        """Return the messages of a chat whose `seq` is at least `start`, oldest first.

        One query reads only messages that are newer than the newest cached message. The cache never
        has a message with an open choice, or any message after it.
        """
        name = f"messages|{chat_partition(chat.tenant, chat.id)}"
        kept = self._kept(name)
        known = kept.read() if kept is not None and kept.state == chat.epoch else []
        if known and not known[0]["seq"] <= start <= known[-1]["seq"] + 1:
            known = []
        if known:
            self._hits.append(name)
        after = known[-1]["seq"] + 1 if known else start
        page = self._table.query(
            Query(
                chat_partition(chat.tenant, chat.id),
                first=Message.key_of(chat.tenant, chat.id, after).sk,
                last=Message.PREFIX.last,
                limit=max(chat.last_seq - after + 1, 0) + LATE_MESSAGES,
            )
        )
        shown = (item for item in known if item["seq"] >= start)
        items = [item for item in shown if not has_expired(item, self._now)] + list(page.items)
        self._read[name] = (chat.epoch, list(takewhile(self._unchanging, items)))
        return items

    def _kept(self, name: str) -> CacheEntry | None:
        kept = self._cache.get(name)
        if kept is None:
            self._absent.append(name)
        return kept

    def _unchanging(self, item: Item) -> bool:
        """Return whether a message can no longer change. A message with an open choice can."""
        if "choice" not in item:
            return True
        choice = Choice.model_validate(item["choice"])
        return choice.status(self._now - LATE_ANSWER) != "open"

    def keep(self, settings: Settings) -> None:
        """Cache the items that were read. If caching is off, drop the entries."""
        if settings.context_cache_seconds:
            for name, (state, items) in self._read.items():
                self._cache.put(name, state, items, seconds=settings.context_cache_seconds)
        else:
            for name in {*self._read, *self._hits}:
                self._cache.drop(name)
        misses = len(self._read.keys() - set(self._hits))
        self._cache.count(hits=len(self._hits), misses=misses, absent=len(self._absent))
