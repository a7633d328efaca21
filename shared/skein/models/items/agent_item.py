"""Items that an agent keeps until they end: memories, goals, plans and threads."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Self

from skein.models.common.base import Identifier, Instant, key_part
from skein.models.common.storage import Is, Item, Key, SortKeyPrefix, Update
from skein.models.visibility.ownership import OwnedItem, owned_partition

REVISION = "OWNED#REVISION"  # sorts between goals and plans, so that one query reads all three


class AgentItem(OwnedItem):
    """An item with an id, a version and a status; `services/items` stores it.

    A live item has the sort key `{PREFIX}{rank}{id}`. The sort key of an ended item starts with
    `ENDED#`, so that a prompt's query does not read it.

    Attributes:
        PREFIX: The prefix of the sort keys of live items.
        RANKS: All values that `rank` can have, in the order of lists.
        LIVE_STATUS: The status of live items. All other statuses are for ended items.
        COUNTER: The attribute that counts changes to items of this kind. It is in the partition's
            revision item (`revision_key`).
        CACHED: Whether containers cache live items. Then every change raises the counter.
        version: The optimistic lock: every change raises it.
        ended_at: When the item ended; None while it is live.
    """

    PREFIX: ClassVar[SortKeyPrefix]
    RANKS: ClassVar[tuple[str, ...]] = ("",)
    LIVE_STATUS: ClassVar[str] = "active"
    COUNTER: ClassVar[str]
    CACHED: ClassVar[bool] = False

    id: Identifier
    status: str
    version: int = 1
    ended_at: Instant | None = None

    @property
    def live(self) -> bool:
        """Whether the item has not ended."""
        return self.status == self.LIVE_STATUS

    @property
    def rank(self) -> str:
        """The part of the sort key that orders items of one kind."""
        return self.RANKS[0]

    @property
    def key(self) -> "Key[AgentItem]":
        """The key of this item; it changes when the item ends or is restored."""
        owned = (self.tenant, self.agent_id, self.scope)
        return self.key_of(*owned, self.id, rank=self.rank, live=self.live)

    @classmethod
    def key_of(
        cls,
        tenant: str,
        agent_id: str,
        scope: str | None,
        item_id: str,
        *,
        rank: str = "",
        live: bool = True,
    ) -> Key[Self]:
        """Return the key of a live or an ended item with this id."""
        prefix = cls.PREFIX if live else cls.PREFIX.ended
        return Key(owned_partition(tenant, agent_id, scope), f"{prefix}{rank}{key_part(item_id)}")

    @classmethod
    def keys_of(
        cls, tenant: str, agent_id: str, scope: str | None, item_id: str
    ) -> tuple[Key, ...]:
        """Return all keys that an item with this id may have."""
        return tuple(
            cls.key_of(tenant, agent_id, scope, item_id, rank=rank, live=live)
            for live in (True, False)
            for rank in cls.RANKS
        )

    def ended(self, status: str, now: datetime) -> Self:
        return AgentItem.model_copy(self, update={"status": status, "ended_at": now})

    def restored(self) -> Self:
        return AgentItem.model_copy(self, update={"status": self.LIVE_STATUS, "ended_at": None})

    def to_item(self) -> Item:
        """Return the item as table attributes, with its due pointer if it has one."""
        return self.indexed()


def touched(tenant: str, agent_id: str, scope: str | None, counter: str = "revision") -> Update:
    """Return the write that raises one of a partition's counters.

    Caches of memories compare `revision` to know whether their copy of the partition is current.
    """
    return Update(revision_key(tenant, agent_id, scope), add={counter: 1})


def raised(key: Key, counter: str, found: Mapping[Key, Item]) -> Update:
    """Return the write that raises a counter; it fails if the counter has changed meanwhile.

    Args:
        key: The key of the partition's revision.
        counter: The attribute.
        found: The items that were read, with the revision if it exists.
    """
    known = found.get(key, {}).get(counter)
    return Update(key, add={counter: 1}, condition=Is(counter, known))


def revision_key(tenant: str, agent_id: str, scope: str | None) -> Key:
    """Return the key of a partition's revision item, which has a counter for each kind of item."""
    return Key(owned_partition(tenant, agent_id, scope), REVISION)
