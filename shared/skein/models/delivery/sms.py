"""SMS from and to the provider, and its status reports."""

from typing import Annotated, Literal

from pydantic import Field

from skein.models.chats.chat import Media
from skein.models.common.base import E164, Identifier, Instant, Tenant, Value

MAX_NUMBER = 999_999_999  # far below the 38 digits that the table holds

SmsStatus = Literal["queued", "sent", "delivered", "undelivered", "failed"]

# Twilio has more statuses of an outgoing SMS than Skein needs
# (https://www.twilio.com/docs/messaging/api/message-resource#message-status-values).
_STATUSES: dict[str, SmsStatus] = {
    "accepted": "queued",
    "scheduled": "queued",
    "queued": "queued",
    "sending": "queued",
    "sent": "sent",
    "delivered": "delivered",
    "read": "delivered",
    "partially_delivered": "delivered",
    "undelivered": "undelivered",
    "failed": "failed",
    "canceled": "failed",
}


def status_named(name: str) -> SmsStatus | None:
    """Map Twilio's name of a status to Skein's; None for an unknown name."""
    return _STATUSES.get(name)


class OutgoingSms(Value):
    """One SMS to one phone.

    Attributes:
        callback: The URL to which the provider reports the status; None: nobody needs a report.
    """

    line: E164
    phone: E164
    body: str
    callback: str | None = None


class SentSms(Value):
    """An SMS that the provider has accepted."""

    sid: str
    status: SmsStatus
    created_at: Instant
    error_code: int | None = None


class InboundSms(Value):
    """An inbound SMS, with the provider's values.

    Attributes:
        sender: The phone number of the sender, not validated yet.
        recipient: The phone number of the line, not validated yet.
        opt_out_type: The keyword that the provider recognised, if it looks for keywords
            (`OptOutType` at https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out).
    """

    account_sid: Annotated[str, Field(min_length=1, max_length=64)]
    message_sid: Annotated[str, Field(min_length=1, max_length=64)]
    sender: str
    recipient: str
    body: str
    media: tuple[Media, ...] = ()
    opt_out_type: str | None = None

    @property
    def client_id(self) -> str:
        """The id by which a redelivered SMS is recognised."""
        return f"{self.account_sid}:{self.message_sid}"


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
