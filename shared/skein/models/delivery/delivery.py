"""Deliveries: messages on their way to phones, in one or more parts."""

import re
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from skein.channels.port import Channel
from skein.channels.registry import channel_named
from skein.models.chats.chat import chat_partition
from skein.models.common.address import Route
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.common.reason import StoredReason
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.delivery.sms import Content
from skein.models.outbox.due import due_pointer

CODE = re.compile(r"\b[0-9]{6}\b")
HIDDEN = "\u2022" * 6

PartStatus = Literal[
    "pending", "sending", "queued", "sent", "delivered", "read", "undelivered", "failed"
]
DeliveryStatus = Literal["queued", "sending", "sent", "delivered", "read", "failed", "canceled"]


class PartFile(Value):
    """A file of the delivered message, which is sent with one of the delivery's parts.

    Attributes:
        small: Whether the smaller copy of a picture is sent.
        as_link: Whether the text has a link to the file instead of an attachment.
    """

    media_id: Identifier
    small: bool = False
    as_link: bool = False


class DeliveryPart(Value):
    """One SMS of a delivery.

    Attributes:
        file: The file that is sent with the SMS, if any.
        content: The template in which the SMS is sent; None if the body is sent as it is.
        segments: How many units of the channel the text counts as. On the SMS channel, a unit is a
            segment that the carrier bills.
        status: `pending` before the first post; `sending` once the intent to post is stored and
            while the outcome is unknown; the other values as Twilio reports them.
        sid: Twilio's id of the SMS, once known.
        earlier_sids: Twilio's ids of earlier attempts.
        tries: How often the SMS was posted to Twilio.
        intent_at: When the intent to make the newest post was stored.
        next_at: When to check the outcome of a post, or to post again.
        error_code: Twilio's error code, if the SMS failed.
    """

    body: str
    file: Annotated[PartFile | None, Field(exclude_if=lambda file: file is None)] = None
    content: Annotated[Content | None, Field(exclude_if=lambda content: content is None)] = None
    segments: int
    status: PartStatus = "pending"
    sid: str | None = None
    earlier_sids: tuple[str, ...] = ()
    tries: int = 0
    intent_at: Instant | None = None
    next_at: Instant | None = None
    error_code: int | None = None

    def counted_as(self, channel: Channel) -> tuple[str, int]:
        """Return the name for the part in usage and prices, and how many units it counts as."""
        carries = self.file is not None and not self.file.as_link
        if carries and channel.media_name is not None:
            return channel.media_name, 1
        return channel.name, self.segments

    @property
    def handed_over(self) -> bool:
        """Whether Twilio has the SMS and has not reported a failure."""
        return self.status in {"queued", "sent", "delivered", "read"}

    @property
    def lost(self) -> bool:
        """Whether the SMS failed and no retry is due."""
        return self.status in {"undelivered", "failed"} and self.next_at is None

    @property
    def sids(self) -> frozenset[str]:
        """All of Twilio's ids of the SMS, including earlier attempts."""
        return frozenset({*self.earlier_sids, *([self.sid] if self.sid else [])})


class Delivery(Stored):
    """A message on its way to a phone. Its due pointer tells the tick when there is work to do.

    Attributes:
        agent_id: The agent that posted the message.
        charged_to: The person who is charged for the SMS instead of the recipient, such as an
            inviter; None once everything was sent.
        seq: The message of the chat that is delivered.
        parts: The SMS of the delivery; empty until the first attempt splits the message.
        has_codes: Whether the parts show codes with which the person answers a choice by SMS.
        rest_at: Where the unsent rest of a cut text begins, in characters; None if there is no
            rest, or the person has requested all of it.
        continues: For the delivery of a text's rest, the delivery of the text's beginning.
        has_files: For the delivery of a text's rest, whether it includes the message's files.
        send_at: When the line has capacity for the delivery; None until the delivery is charged.
        announced: Whether the first part tells the person that the line's queue is long. This part
            is sent at once.
        after: An earlier delivery to the same phone that must be sent first; None if there is none.
        confirms_opt_out: Whether the SMS confirms an opt-out. It is sent although the person has
            opted out.
        fence: The fencing token: each claim raises it, and writes of an older claim fail.
        version: The optimistic lock, since the worker and status callbacks write the same parts.
            Every write raises the version, except the tick's.
        error: Why the delivery was canceled, for the operator.
        reason: Why the delivery was canceled, or why its newest try failed; None otherwise.
        paused: Whether a pause of texts holds the delivery back.
        unpaused_at: When the delivery's newest pause ended.
        correlation_id: The id of the request that led to the delivery, for the logs.
        expires_at: When the delivery expires with its message, in seconds since 1970.
    """

    PREFIX: ClassVar = SortKeyPrefix("DELIVERY#")

    tenant: Tenant
    id: Identifier
    chat_id: Identifier
    user_id: Identifier
    agent_id: Identifier
    charged_to: Annotated[Identifier | None, Field(exclude_if=lambda payer: payer is None)] = None
    seq: int
    to: Route
    status: DeliveryStatus = "queued"
    parts: tuple[DeliveryPart, ...] = ()
    has_codes: Annotated[bool, Field(exclude_if=lambda has: not has)] = False
    rest_at: Annotated[int | None, Field(exclude_if=lambda at: at is None)] = None
    continues: Annotated[Identifier | None, Field(exclude_if=lambda first: first is None)] = None
    has_files: Annotated[bool, Field(exclude_if=lambda has: not has)] = False
    send_at: Annotated[Instant | None, Field(exclude_if=lambda at: at is None)] = None
    announced: Annotated[bool, Field(exclude_if=lambda announced: not announced)] = False
    after: Identifier | None = None
    confirms_opt_out: Annotated[bool, Field(exclude_if=lambda confirms: not confirms)] = False
    fence: int = 0
    version: int = 1
    lease_until: Instant | None = None
    error: str | None = None
    reason: StoredReason | None = None
    paused: bool | None = None
    unpaused_at: Instant | None = None
    correlation_id: str | None = None
    expires_at: int | None = None
    created_at: Instant
    ended_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str, delivery_id: str) -> "Key[Delivery]":
        return Key(chat_partition(tenant, chat_id), f"{Delivery.PREFIX}{delivery_id}")

    @property
    def key(self) -> "Key[Delivery]":
        return self.key_of(self.tenant, self.chat_id, self.id)

    @property
    def channel(self) -> Channel:
        return channel_named(self.to.channel)

    @property
    def payer_id(self) -> str:
        """The person whose limits and usage the SMS is charged to."""
        return self.charged_to or self.user_id

    @property
    def followed_by(self) -> str:
        """The id in log lines about this delivery: its correlation id, or else its own id."""
        return self.correlation_id or self.id

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the SMS, with the codes of a choice hidden."""
        texts = (part.body for part in self.parts)
        return tuple(CODE.sub(HIDDEN, text) if self.has_codes else text for text in texts)

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be sent: the status is neither `queued` nor `sending`."""
        return self.status not in {"queued", "sending"}

    @property
    def arrived(self) -> bool:
        """Whether all parts have reached the phone."""
        return self.status in {"delivered", "read"}

    @property
    def counted_from(self) -> datetime:
        """The time from which waits are counted: the creation or the end of a pause."""
        return max(self.created_at, self.unpaused_at or self.created_at)

    @property
    def ordered_from(self) -> datetime:
        """The time from which the wait for the previous delivery to the same phone is counted."""
        return max(self.counted_from, self.send_at or self.counted_from)

    def waits_until(self, index: int) -> datetime | None:
        """Return when the line has capacity for a part; None if the part need not wait."""
        return None if self.announced and index == 0 else self.send_at

    def due_while_paused(self) -> dict[str, Any]:
        """Return the due pointer during a pause; paused deliveries are sorted by creation time."""
        return due_pointer("paused_delivery", self.key, self.created_at)

    def due(self, at: datetime) -> dict[str, Any]:
        """Return the due pointer with which the tick finds this delivery at `at`."""
        return due_pointer("delivery", self.key, at)

    def to_item(self, due_at: datetime) -> Item:
        return self.attributes() | self.due(due_at)
