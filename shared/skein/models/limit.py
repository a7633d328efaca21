"""How much a person, or a tenant, has used of what is allowed: token buckets.

A bucket is one moment, when it would be full again if nothing more were taken from it. So it fills
by itself, and what is taken moves that moment on. Each owner's stand in an item of their own.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field

from skein.models.base import Identifier, Instant, Stored, Tenant, Value, key_part, rfc3339
from skein.models.storage import META, Is, Item, Key, Put, all_of, any_of, expired

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

BUCKETS = ("messages_full_at", "tokens_full_at", "changes_full_at", "over")

What = Literal["messages", "tokens"]


class Rate(NamedTuple):
    """A bucket's size, and the time in which it fills from empty; sizes below 1 are no limit."""

    size: int
    window: timedelta

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.size > 0

    def after(self, full_at: datetime | None, taken: int, now: datetime) -> datetime:
        """When the bucket is full again after `taken` more, which may be more than it holds."""
        return max(full_at or now, now) + self.window * taken / self.size

    def used(self, full_at: datetime | None, now: datetime) -> float:
        """How much of the bucket is taken; more than `size` once it is overdrawn."""
        return self.size * (max((full_at or now) - now, timedelta(0)) / self.window)

    def waiting(self, full_at: datetime | None, wanted: int, now: datetime) -> timedelta:
        """How long until the bucket holds `wanted`; nothing when it does."""
        if not self.limited:
            return timedelta(0)
        return max(self.after(full_at, wanted, now) - self.window - now, timedelta(0))


class Over(Value):
    """A person on SMS has gone over a limit: one notice, then silence.

    Attributes:
        since: When; names the notice, so that there is one.
        until: When the bucket is full again, and the agent answers again.
        told: The chats in which the notice has been given.
    """

    what: What
    since: Instant
    until: Instant
    told: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda chats: not chats)] = ()


class Allowance(Stored):
    """The buckets of one owner, a person or a shard of a tenant.

    Attributes:
        owner: `user:{id}` or `all:{shard}`.
        messages_full_at: When the bucket of messages is full again; None when it is.
        tokens_full_at: When that of the model's tokens is.
        changes_full_at: When that of chats opened and members changed is.
        over: Of a person on SMS, the newest time over a limit.
    """

    tenant: Tenant
    owner: str
    messages_full_at: Instant | None = None
    tokens_full_at: Instant | None = None
    changes_full_at: Instant | None = None
    over: Over | None = None

    @staticmethod
    def key_of(tenant: str, owner: str) -> Key:
        """Return the key of an owner's buckets."""
        return Key(f"{key_part(tenant)}#LIMIT#{owner}", META)

    @classmethod
    def found_in(cls, item: Item | None, tenant: str, owner: str) -> Self:
        """An owner's buckets, from the item under their key; full ones, where there is none."""
        return cls.from_item(item) if item else cls(tenant=tenant, owner=owner)

    @property
    def key(self) -> Key:
        """The key of these buckets."""
        return self.key_of(self.tenant, self.owner)

    def to_item(self) -> Item:
        """Return the buckets as table attributes."""
        return self.attributes() | {"expires_at": self.forgotten_at()}

    def forgotten_at(self) -> int:
        """When the item says no more than a missing one, in seconds since 1970, for the TTL."""
        over_until = self.over.until if self.over else None
        buckets = (self.messages_full_at, self.tokens_full_at, self.changes_full_at)
        moments = (*buckets, over_until)
        last = max((moment for moment in moments if moment is not None), default=EPOCH)
        return int((last + DAY).timestamp())

    def becoming(self, now: datetime, **changes: Any) -> tuple["Allowance", Put]:
        """These buckets after a change, and the write of it, which holds while they are as read.

        What has expired was read as nothing at all, and is replaced.
        """
        after = type(self).model_validate(self.model_dump() | changes)
        stored = self.attributes()
        unchanged = (Is(name, stored.get(name)) for name in BUCKETS)
        return after, Put(self.key, after.to_item(), any_of(all_of(*unchanged), expired(now)))


def owner_of_user(user_id: str) -> str:
    """The owner that a person is."""
    return f"user:{key_part(user_id)}"


def owner_of_shard(shard: int) -> str:
    """The owner that one part of a tenant's people and runs is."""
    return f"all:{shard}"


def notice_id(over: Over) -> str:
    """The `client_id` of the notice, the same however often it is given."""
    return f"limit:{rfc3339(over.since)}"
