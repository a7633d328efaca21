"""A delivery: one message on its way to one phone, in one or more parts."""

from datetime import datetime
from typing import Any, ClassVar, Literal

from skein.models.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.chat import SmsAddress, chat_partition
from skein.models.due import due_mark
from skein.models.storage import Item, Key, SortKeyPrefix

PartStatus = Literal["pending", "sending", "queued", "sent", "delivered", "undelivered", "failed"]
DeliveryStatus = Literal["queued", "sending", "sent", "delivered", "failed", "canceled"]


class DeliveryPart(Value):
    """One text message of a delivery.

    Attributes:
        status: `pending` nothing done; `sending` the intent is written, the outcome unknown;
            the rest as Twilio reports it.
        sid: Twilio's id, once known.
        earlier_sids: What Twilio called it in tries before this one.
        tries: How often it was posted.
        intent_at: When the newest post was about to be made.
        next_at: When to look at it again: to ask what became of a post, or to post it once more.
        segments: How many SMS segments it is billed as.
        error_code: Twilio's error code, if it failed.
    """

    body: str
    segments: int
    status: PartStatus = "pending"
    sid: str | None = None
    earlier_sids: tuple[str, ...] = ()
    tries: int = 0
    intent_at: Instant | None = None
    next_at: Instant | None = None
    error_code: int | None = None

    @property
    def handed_over(self) -> bool:
        """Whether Twilio has it and has not given it up."""
        return self.status in {"queued", "sent", "delivered"}

    @property
    def lost(self) -> bool:
        """Whether it failed and will not be tried again."""
        return self.status in {"undelivered", "failed"} and self.next_at is None

    @property
    def sids(self) -> frozenset[str]:
        """Every id that Twilio ever gave it."""
        return frozenset({*self.earlier_sids, *([self.sid] if self.sid else [])})


class Delivery(Stored):
    """A message on its way to a phone; its own outbox entry.

    Attributes:
        seq: The message of the chat that is delivered.
        parts: Empty until the first attempt has split the message.
        after: The delivery to the same phone that goes first, if one was on its way.
        fence: Raised by every claim; a worker's writes hold only while it is the worker's own.
        version: Raised by every write but the tick's; each is conditional on the one before, since
            worker and status callbacks write the same parts.
        error: Why it was canceled, for the operator.
        correlation_id: Of the request that led to it, for the logs.
        expires_at: When it goes, with its message, in seconds since 1970.
    """

    PREFIX: ClassVar = SortKeyPrefix("DELIVERY#")

    tenant: Tenant
    id: Identifier
    chat_id: Identifier
    user_id: Identifier
    seq: int
    to: SmsAddress
    status: DeliveryStatus = "queued"
    parts: tuple[DeliveryPart, ...] = ()
    after: Identifier | None = None
    fence: int = 0
    version: int = 1
    lease_until: Instant | None = None
    error: str | None = None
    correlation_id: str | None = None
    expires_at: int | None = None
    created_at: Instant
    ended_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str, delivery_id: str) -> Key:
        """Return the key of a delivery."""
        return Key(chat_partition(tenant, chat_id), f"{Delivery.PREFIX}{delivery_id}")

    @property
    def key(self) -> Key:
        """The key of this delivery."""
        return self.key_of(self.tenant, self.chat_id, self.id)

    @property
    def followed_by(self) -> str:
        """The correlation id of what is done with it; its own id, if no request led to it."""
        return self.correlation_id or self.id

    @property
    def settled(self) -> bool:
        """Whether every part has reached Twilio, or none will any more."""
        return self.status not in {"queued", "sending"}

    def due(self, at: datetime) -> dict[str, Any]:
        """The mark that brings the tick to this delivery at `at`."""
        return due_mark("delivery", self.key, at)

    def to_item(self, due_at: datetime) -> Item:
        """Return the delivery as table attributes, due at `due_at` unless it is sent before."""
        return self.attributes() | self.due(due_at)
