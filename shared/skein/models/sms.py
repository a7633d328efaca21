"""Text messages as they come from the provider, go to it, and what it says of them later."""

from typing import Annotated, Literal

from pydantic import Field

from skein.models.base import E164, Identifier, Instant, Tenant, Value
from skein.models.chat import Media

MAX_NUMBER = 999_999_999  # far less than the 38 digits that the table holds

SmsStatus = Literal["queued", "sent", "delivered", "undelivered", "failed"]

# Twilio tells more states of an outgoing text apart than matter here
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


def known_status(told: str) -> SmsStatus | None:
    """What Twilio's word for a status means here; None for a word that it never used before."""
    return _STATUSES.get(told)


class OutgoingSms(Value):
    """One text to one phone; `callback` is told what becomes of it."""

    line: E164
    phone: E164
    body: str
    callback: str


class SentSms(Value):
    """A text that the provider knows."""

    sid: str
    status: SmsStatus
    created_at: Instant
    error_code: int | None = None


class InboundSms(Value):
    """A text that reached one of our lines, in the provider's own words.

    Attributes:
        sender: The number it came from, not yet checked; so is `recipient`, the line.
        opt_out_type: What the provider took it for, where it looks at that (`OptOutType` at
            https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out).
    """

    account_sid: Annotated[str, Field(min_length=1, max_length=64)]
    message_sid: Annotated[str, Field(min_length=1, max_length=64)]
    sender: str
    recipient: str
    body: str
    media: tuple[Media, ...] = ()
    opt_out_type: str | None = None


class StatusReport(Value):
    """What the provider says of one part of a delivery, by a status callback.

    Attributes:
        part: Which part of the delivery, counted from 0.
    """

    tenant: Tenant
    chat_id: Identifier
    delivery_id: Identifier
    part: Annotated[int, Field(ge=0, le=MAX_NUMBER)]
    sid: Annotated[str, Field(min_length=1, max_length=64)]
    status: SmsStatus
    error_code: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
