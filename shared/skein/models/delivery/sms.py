"""SMS from and to the provider, its status reports, and the hours in which SMS arrived."""

import hashlib
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from skein.models.chats.chat import Media
from skein.models.common.address import Address, ChannelName
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value, key_part, rfc3339
from skein.models.common.storage import META, Is, Item, Key, Put, any_of, gone

DAY, WEEK = timedelta(days=1), timedelta(days=7)
KEPT_FOR = DAY  # for ids of received SMS; the provider repeats a webhook within minutes

# Twilio calls a webhook only once, unless the URL's fragment asks for retries. This fragment asks
# for at most three retries within 15 seconds, after any kind of failure
# (https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides).
CONNECTION_OVERRIDES = "#ct=2000&rt=6000&tt=15000&rc=3&rp=all"

MAX_NUMBER = 999_999_999  # far below the 38 digits that the table holds

SmsStatus = Literal["queued", "sent", "delivered", "read", "undelivered", "failed"]

# Twilio has more statuses of an outgoing SMS than Skein needs
# (https://www.twilio.com/docs/messaging/api/message-resource#message-status-values).
_STATUSES: dict[str, SmsStatus] = {
    "accepted": "queued",
    "scheduled": "queued",
    "queued": "queued",
    "sending": "queued",
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "partially_delivered": "delivered",
    "undelivered": "undelivered",
    "failed": "failed",
    "canceled": "failed",
}


def status_named(name: str) -> SmsStatus | None:
    """Map Twilio's name of a status to Skein's; None for an unknown name."""
    return _STATUSES.get(name)


class Content(Value):
    """A template of the provider and the values of its variables, by number."""

    sid: str
    variables: dict[str, str]


class OutgoingSms(Value):
    """One SMS, or one message of another channel, to one phone.

    Attributes:
        line: The address of the line, without the prefix of the channel.
        phone: The address of the person, also without the prefix.
        body: The text; with `content`, the text that the provider renders from the template.
        content: The template in which the SMS is sent; None if the body is sent as it is.
        media_url: The URL of the attached file; None if there is no file.
        link: The URL of a file, on a line after the text; None if there is no link.
        callback: The URL to which the provider reports the status; None if no report is needed.
    """

    channel: ChannelName = "sms"
    line: str
    phone: str
    body: str
    content: Content | None = None
    media_url: str | None = None
    link: str | None = None
    callback: str | None = None

    @property
    def text(self) -> str:
        """The text as the phone shows it."""
        return self.body if self.link is None else f"{self.body}\n{self.link}"

    def is_in(self, text: str) -> bool:
        """Return whether a text that the provider reports is the text of this SMS.

        The token at the end of the link is not compared, because each post has a new token.
        """
        if self.link is None:
            return text == self.body
        return text.startswith(f"{self.body}\n{self.link.rpartition('/')[0]}/")


class SentSms(Value):
    """An SMS that the provider has accepted."""

    sid: str
    status: SmsStatus
    created_at: Instant
    error_code: int | None = None


class InboundSms(Value):
    """An inbound SMS, with the provider's values.

    Attributes:
        channel: The channel on which the SMS arrived.
        media: The files of the message, with their URLs at the provider.
        sender: The address of the sender, not validated yet.
        recipient: The address of the line, not validated yet.
        button: The id of the quick reply that was tapped; None for a typed message.
        replied_to: The provider's id of the message to which the person replied, on channels that
            have replies (`OriginalRepliedMessageSid`).
        opt_out_type: The keyword that the provider recognised, if it checks for keywords
            (`OptOutType` at https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out).
    """

    account_sid: Annotated[str, Field(min_length=1, max_length=64)]
    message_sid: Annotated[str, Field(min_length=1, max_length=64)]
    channel: ChannelName = "sms"
    sender: str
    recipient: str
    body: str
    media: tuple[Media, ...] = ()
    button: str | None = None
    replied_to: Annotated[str, Field(max_length=64)] | None = None
    opt_out_type: str | None = None

    @property
    def answer(self) -> str:
        """The text to match against choices: the id of the tapped quick reply, or else the body."""
        return self.button if self.button is not None else self.body

    @property
    def attached(self) -> tuple[Media, ...]:
        """The files as they are listed in the message, without their URLs."""
        return tuple(media.model_copy(update={"url": ""}) for media in self.media)

    @property
    def client_id(self) -> str:
        """The id by which a redelivered SMS is recognised."""
        return f"{self.account_sid}:{self.message_sid}"


class ReceivedSms(Stored):
    """A record of an SMS of the last day. An SMS with the same id from another number is rejected.

    Attributes:
        sms_id: The id at the provider, including the id of the account.
        sender_hash: The hash of the SMS's id and the sender's number, so that the item does not
            show the number.
        expires_at: When the item may be deleted, in seconds since 1970.
    """

    tenant: Tenant
    sms_id: str
    sender_hash: str
    expires_at: int

    @classmethod
    def of(cls, tenant: str, sms_id: str, sender: Address, now: datetime) -> "ReceivedSms":
        sender_hash = hashlib.sha256(f"{sms_id} {sender}".encode()).hexdigest()
        end = int((now + KEPT_FOR).timestamp())
        return cls(tenant=tenant, sms_id=sms_id, sender_hash=sender_hash, expires_at=end)

    @staticmethod
    def key_of(tenant: str, sms_id: str) -> "Key[ReceivedSms]":
        return Key(f"{key_part(tenant)}#SMS#{key_part(sms_id)}", META)

    @property
    def key(self) -> "Key[ReceivedSms]":
        return self.key_of(self.tenant, self.sms_id)

    def to_item(self) -> Item:
        return self.attributes()

    def is_from_another(self, before: Item) -> bool:
        """Return whether the record `before`, stored for this id, has another sender's number."""
        return bool(before["sender_hash"] != self.sender_hash)

    def stored(self, now: datetime) -> Put:
        """Return the write of the SMS, which fails if its id came from another number."""
        return Put(self.key, self.to_item(), any_of(gone(now), Is("sender_hash", self.sender_hash)))


class StatusReport(Value):
    """A status callback of the provider for one part of a delivery.

    Attributes:
        part: The position of the part in the delivery, from 0.
    """

    tenant: Tenant
    chat_id: Identifier
    delivery_id: Identifier
    part: Annotated[int, Field(ge=0, le=MAX_NUMBER)]
    sid: Annotated[str, Field(min_length=1, max_length=64)]
    status: SmsStatus
    error_code: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None


class SmsHourRecord(Stored):
    """An hour in which at least one SMS arrived, on any line of the deployment."""

    hour: Instant

    @staticmethod
    def key_of(hour: datetime) -> "Key[SmsHourRecord]":
        """Return the key of an hour; all hours are in one partition."""
        return Key("STACK#SMS", rfc3339(hour))

    @property
    def key(self) -> "Key[SmsHourRecord]":
        return self.key_of(self.hour)

    def to_item(self) -> Item:
        """Return the hour as table attributes.

        The item is kept for a week and a day, because it is compared with the same hour of the
        next week.
        """
        return self.attributes() | {"expires_at": int((self.hour + WEEK + DAY).timestamp())}
