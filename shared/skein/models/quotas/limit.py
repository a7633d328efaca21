"""Token buckets and permits, which limit people, tenants and agents.

A bucket is stored as a single time: the time at which it will be full again if nothing more is
taken. Taking from the bucket moves this time later, and refilling needs no writes. All buckets of
an owner are in one item.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field

from skein.models.common.base import (
    Identifier,
    Instant,
    Stored,
    Tenant,
    Value,
    key_part,
    rfc3339,
    stable_hash,
)
from skein.models.common.storage import META, Is, Item, Key, Put, all_of, any_of, expired
from skein.models.quotas.permits import NO_PERMITS, Permits

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MOMENTS = (
    "messages_full_at",
    "tokens_full_at",
    "changes_full_at",
    "reads_full_at",
    "segments_full_at",
    "sending_full_at",
    "notices_full_at",
    "codes_full_at",
    "contacts_full_at",
    "invitations_full_at",
    "uploads_full_at",
    "visits_full_at",
)
BUCKETS = (*MOMENTS, "over", "permits_version", "tokens_per_day", "tools")

What = Literal["messages", "tokens"]


class Rate(NamedTuple):
    """The size and refill time of a bucket; a size below 1 means no limit."""

    size: int
    window: timedelta

    @property
    def limited(self) -> bool:
        return self.size > 0

    def after(self, full_at: datetime | None, taken: int, now: datetime) -> datetime:
        """Return when the bucket is full after taking `taken`, which may overdraw the bucket."""
        return max(full_at or now, now) + self.window * taken / self.size

    def used(self, full_at: datetime | None, now: datetime) -> float:
        """Return how much of the bucket is used; more than `size` if it is overdrawn."""
        return self.size * (max((full_at or now) - now, timedelta(0)) / self.window)

    def waiting(self, full_at: datetime | None, wanted: int, now: datetime) -> timedelta:
        """Return the time until the bucket holds `wanted`; zero if it does now."""
        if not self.limited:
            return timedelta(0)
        return max(self.after(full_at, wanted, now) - self.window - now, timedelta(0))


class ExceededLimit(Value):
    """A person's state after exceeding a limit; the person gets one notice.

    Attributes:
        since: When the person exceeded the limit; also part of the notice's idempotency key.
        until: When the bucket is full and the agent answers again.
        notified: The chats in which the notice was posted.
    """

    what: What
    since: Instant
    until: Instant
    notified: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda chats: not chats)] = ()


class Allowance(Stored):
    """The buckets and permits of one owner.

    Attributes:
        owner: The owner: `user:{id}`, `all:{shard}`, `agent:{id}`, `pool:{id}` for the visitors of
            a widget, `number:{hash}`, or `codes` for the codes of a tenant. For visits, the limit's
            name and the id of the widget, visitor or network, such as `visits:{id}`. For sent
            messages, the channel's name followed by `user:{id}` or `line:{number}`.
        messages_full_at: When the bucket of messages is full again; None if it is full.
        tokens_full_at: When the bucket of model tokens is full again.
        changes_full_at: When the bucket of opened chats and changed members is full again.
        reads_full_at: When the bucket of reads is full again.
        segments_full_at: When the bucket of segments, or the channel's other units, is full again.
        sending_full_at: For a line, when the bucket of segments per minute is full again. This time
            is more than a minute from now if SMS wait for their turn.
        notices_full_at: For a line, when the bucket of notices about a long queue is full again.
            For a person, the time until which the person has to wait, as the newest notice about a
            full queue says.
        codes_full_at: When the bucket of codes that prove phone numbers is full again.
        contacts_full_at: When the bucket of first contacts is full again.
        invitations_full_at: When the bucket of the person's invitations by SMS is full again.
        uploads_full_at: When the bucket of pictures and files is full again.
        visits_full_at: When the bucket of visits, or of messages of visitors, is full again.
        tokens_per_day: For a pool, the size of its bucket of model tokens; None for no limit.
        tools: For a pool, the tools that agents may call in chats with its visitors, in place of
            their own; None for the default.
        over: For a person on SMS, the state of the limit that was exceeded last.
        permits: The runs that hold one of the owner's permits, and the runs that wait for one.
        permits_version: The version of the permits, which their optimistic lock compares.
    """

    tenant: Tenant
    owner: str
    messages_full_at: Instant | None = None
    tokens_full_at: Instant | None = None
    changes_full_at: Instant | None = None
    reads_full_at: Instant | None = None
    segments_full_at: Instant | None = None
    sending_full_at: Instant | None = None
    notices_full_at: Instant | None = None
    codes_full_at: Instant | None = None
    contacts_full_at: Instant | None = None
    invitations_full_at: Instant | None = None
    uploads_full_at: Instant | None = None
    visits_full_at: Instant | None = None
    tokens_per_day: int | None = None
    tools: Annotated[tuple[str, ...] | None, Field(exclude_if=lambda names: names is None)] = None
    over: ExceededLimit | None = None
    permits: Annotated[Permits, Field(exclude_if=lambda permits: permits == NO_PERMITS)] = (
        NO_PERMITS
    )
    permits_version: int | None = None

    @staticmethod
    def key_of(tenant: str, owner: str) -> "Key[Allowance]":
        return Key(f"{key_part(tenant)}#LIMIT#{owner}", META)

    @classmethod
    def from_optional(cls, item: Item | None, tenant: str, owner: str) -> Self:
        """Return an owner's buckets from their item; full buckets if there is no item."""
        return cls.from_item(item) if item else cls(tenant=tenant, owner=owner)

    @property
    def key(self) -> "Key[Allowance]":
        return self.key_of(self.tenant, self.owner)

    def to_item(self) -> Item:
        """Return the buckets as table attributes, which expire unless `tokens_per_day` is set."""
        expiry = {"expires_at": self.expiry()} if self.tokens_per_day is None else {}
        return self.attributes() | expiry

    def expiry(self) -> int:
        """Return the expiry in seconds since 1970; the buckets are full again by then."""
        over_until = self.over.until if self.over else None
        buckets = (getattr(self, name) for name in MOMENTS)
        moments = (*buckets, over_until, self.permits.last_until)
        last = max((moment for moment in moments if moment is not None), default=EPOCH)
        return int((last + DAY).timestamp())

    def changed(self, now: datetime, **changes: Any) -> tuple["Allowance", Put]:
        """Return the changed buckets and their write, which has an optimistic lock.

        The write also replaces an expired item, which was read as missing.
        """
        if "permits" in changes:
            changes["permits_version"] = (self.permits_version or 0) + 1
        after = type(self).model_validate(self.model_dump() | changes)
        stored = self.attributes()
        unchanged = (Is(name, stored.get(name)) for name in BUCKETS)
        return after, Put(self.key, after.to_item(), any_of(all_of(*unchanged), expired(now)))


def owner_of_user(user_id: str) -> str:
    return f"user:{key_part(user_id)}"


def owner_of_agent(agent_id: str) -> str:
    """Return the owner id of an agent, which has permits but no buckets."""
    return f"agent:{key_part(agent_id)}"


def owner_of_pool(pool: str) -> str:
    return f"pool:{key_part(pool)}"


def owner_on_channel(channel: str, user_id: str) -> str:
    """Return the owner id for messages sent to a person on a channel."""
    return f"{channel}:{owner_of_user(user_id)}"


def owner_of_line(channel: str, number: str) -> str:
    """Return the owner id for messages that a line sends on a channel."""
    return f"{channel}:line:{number}"


def owner_of_shard(shard: int) -> str:
    """Return the owner id of one shard of a tenant's people and runs."""
    return f"all:{shard}"


def owner_of_number(phone: str) -> str:
    """Return the owner id of a phone number, which does not reveal the number."""
    return f"number:{stable_hash(phone)}"


def notice_id(over: ExceededLimit) -> str:
    """Return the `client_id` of the notice, which makes posting it idempotent."""
    return f"limit:{rfc3339(over.since)}"
