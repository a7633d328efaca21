"""The reads of one context that a container may know already: an agent's memories, and messages.

What is kept saves bytes, never freshness: the revision of an agent's things comes with its goals
and plans, which are read at each turn, and messages are read on from the newest that is known.
"""

from collections.abc import Sequence
from datetime import datetime

from skein.agent.reading.cache import ContextCache
from skein.models.chat import Chat, Message, chat_partition
from skein.models.intent import owned_partition
from skein.models.memory import LIVE, REVISION
from skein.models.storage import Item, has_expired
from skein.ports import Table
from skein.services.config.resolution import Effective
from skein.services.memory.store import live_items, owned_items

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
            memories = [item for item in items if item["sk"].startswith(LIVE)]
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
            last="MSG#~",
            limit=max(chat.last_seq - after + 1, 0) + LATE_MESSAGES,
        )
        shown = (item for item in known if item["seq"] >= start)
        items = [item for item in shown if not has_expired(item, self._now)] + list(page.items)
        self._read[name] = (chat.epoch, items)
        return items

    def keep(self, effective: Effective) -> None:
        """Keep what was read for as long as the agent's settings say, or nothing of it."""
        if effective.context_caching:
            for name, (state, items) in self._read.items():
                self._cache.put(name, state, items, seconds=effective.context_cache_seconds)
        else:
            for name in {*self._read, *self._hits}:
                self._cache.drop(name)
        misses = len(self._read.keys() - set(self._hits))
        self._cache.count(hits=len(self._hits), misses=misses)
