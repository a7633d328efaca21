"""State machine of a delivery: events change its parts, and the parts determine its status.

All functions are pure. Within one try, the status of a part only moves forward. A new try adds 1
to `tries`.
"""

from collections.abc import Callable
from datetime import datetime

from skein.channels.port import Channel, ChannelSettings
from skein.channels.segments import clean
from skein.models.chats.chat import MessageLoss
from skein.models.common.reason import Reason
from skein.models.delivery.delivery import Delivery, DeliveryPart, DeliveryStatus, PartStatus
from skein.models.delivery.sms import SentSms, SmsStatus, StatusReport
from skein.services.delivery.policy import TEMPLATE_WAIT, next_try, waits_for

MORE_HINT = "Reply MORE for the rest."  # the end of a cut text (`continuation.py`)

RANKS: dict[PartStatus, int] = {
    "pending": 0,
    "sending": 1,
    "queued": 2,
    "sent": 3,
    "delivered": 4,
    "undelivered": 4,
    "failed": 4,
    "read": 5,
}

# The reasons of settled deliveries for which no reason was recorded.
SETTLED_REASONS: dict[DeliveryStatus, Reason] = {
    "sent": Reason.NOT_CONFIRMED,
    "failed": Reason.PROVIDER_REFUSED,
    "canceled": Reason.NOT_RECORDED,
}

PartUpdate = Callable[[DeliveryPart], DeliveryPart]


def parts_of(text: str, channel: Channel) -> tuple[DeliveryPart, ...]:
    """Split a text into unsent parts; an empty text has no parts."""
    bodies = channel.parts(text)
    return tuple(DeliveryPart(body=body, segments=channel.units(body)) for body in bodies)


def first_parts(
    text: str, channel: Channel, settings: ChannelSettings, start: int = 0
) -> tuple[tuple[DeliveryPart, ...], int | None]:
    """Return the parts of a text that the channel sends at once, and where the rest begins.

    If the text is too long, the last part ends with a hint on how to get the rest.

    Args:
        text: The text of the message.
        channel: The channel of the delivery.
        settings: The settings, which limit the length of a text.
        start: The position in the cleaned text at which the parts begin.

    Returns:
        The parts, and the position of the rest in the cleaned text; None if there is no rest.
    """
    whole = clean(text)
    left = whole[start:].lstrip()
    skipped = len(whole) - len(left)
    end = channel.fitting(left, MORE_HINT, settings)
    if end == len(left):
        return parts_of(left, channel), None
    return parts_of(f"{left[:end].rstrip()}\n{MORE_HINT}", channel), skipped + end


def intended(part: DeliveryPart, now: datetime, attempt_at: datetime) -> DeliveryPart:
    """Return the part with the intent of a new try, and with the time to look up its outcome."""
    earlier = (*part.earlier_sids, part.sid) if part.sid else part.earlier_sids
    return part.model_copy(
        update={
            "status": "sending",
            "sid": None,
            "earlier_sids": earlier,
            "tries": part.tries + 1,
            "intent_at": now,
            "next_at": attempt_at,
            "error_code": None,
        }
    )


def answered(part: DeliveryPart, sent: SentSms, channel: Channel, now: datetime) -> DeliveryPart:
    """Return the part after Twilio accepted it and returned its id.

    If the part already has another id, from a status callback, Twilio had accepted an earlier post
    of the part after all. The id from the callback moves to `earlier_sids`, and `sid` is the newest
    id.
    """
    if part.sid is not None and part.sid != sent.sid:
        part = part.model_copy(update={"earlier_sids": (*part.earlier_sids, part.sid)})
    part = part.model_copy(update={"sid": sent.sid})
    return _moved(part, sent.status, sent.error_code, channel, now)


def reported(
    part: DeliveryPart, report: StatusReport, channel: Channel, now: datetime
) -> DeliveryPart:
    """Return the part after a status callback, which may be late, early or repeated."""
    if report.sid == part.sid:
        return _moved(part, report.status, report.error_code, channel, now)
    if report.sid in part.earlier_sids:
        return part
    if part.status == "sending":
        part = part.model_copy(update={"sid": report.sid})
        return _moved(part, report.status, report.error_code, channel, now)
    return part.model_copy(update={"earlier_sids": (*part.earlier_sids, report.sid)})


def refused(part: DeliveryPart, code: int | None, channel: Channel, now: datetime) -> DeliveryPart:
    """Return the part after Twilio refused it with this error code."""
    return _moved(part, "failed", code, channel, now)


def not_taken(part: DeliveryPart, now: datetime) -> DeliveryPart:
    """Return the part after Twilio was unreachable or too busy, which makes a retry safe."""
    return _while_unclear(part, "failed", next_try(part, now))


def given_up(part: DeliveryPart) -> DeliveryPart:
    """Return the part as failed, because it stayed unknown whether Twilio accepted it."""
    return _while_unclear(part, "failed", None)


def postponed(part: DeliveryPart, at: datetime) -> DeliveryPart:
    """Return the part with its next look-up at `at`, because its outcome is still unknown."""
    return _while_unclear(part, part.status, at)


def with_part(
    delivery: Delivery, index: int, change: PartUpdate, *, reason: Reason | None = None
) -> Delivery:
    """Return the delivery with one changed part.

    Args:
        index: The index of the part.
        change: Changes the part, or returns it unchanged.
        reason: Why the changed part is not handed over. The default for a failed part is
            `PROVIDER_REFUSED`.
    """
    parts = list(delivery.parts)
    before, after = parts[index], change(parts[index])
    parts[index] = after
    why = delivery.reason
    if (after.status, after.tries, after.next_at) != (before.status, before.tries, before.next_at):
        failed = after.status in {"failed", "undelivered"}
        open_ = after.status == "sending"
        why = (reason or Reason.PROVIDER_REFUSED) if failed else reason if open_ else None
    return delivery.model_copy(update={"parts": tuple(parts), "reason": why})


def status_of(delivery: Delivery) -> DeliveryStatus:
    """Return the status of a delivery, derived from its parts.

    Parts are posted in order, so the parts after a lost part are never posted.
    """
    if delivery.status == "canceled":
        return "canceled"
    parts = delivery.parts
    if any(part.status == "sending" for part in parts):
        return "sending"
    if any(part.lost for part in parts):
        return "failed"
    if not all(part.handed_over for part in parts) or not parts:
        return "queued" if delivery.fence == 0 else "sending"
    if all(part.status == "read" for part in parts):
        return "read"
    return "delivered" if all(part.status in {"delivered", "read"} for part in parts) else "sent"


def loss_of(delivery: Delivery) -> MessageLoss | None:
    """Return how much of a failed or canceled delivery is lost; None for any other delivery.

    The SMS of a question that has ended does not count as lost, because an answer to it would no
    longer matter.
    """
    if delivery.status not in {"failed", "canceled"} or delivery.reason == Reason.CHOICE_OVER:
        return None
    begun = delivery.continues is not None or any(part.handed_over for part in delivery.parts)
    return "part" if begun else "all"


def reason_of(delivery: Delivery, predecessor: Delivery | None, now: datetime) -> Reason | None:
    """Return why a delivery has not reached the phone; None if the delivery has arrived.

    Args:
        predecessor: The previous delivery to the same phone, if any.
    """
    if delivery.settled:
        return delivery.reason or SETTLED_REASONS.get(delivery.status)
    if delivery.lease_until is not None and delivery.lease_until > now:
        return Reason.WORKING
    if any(part.status == "sending" for part in delivery.parts):
        return Reason.OUTCOME_UNKNOWN
    if waits_for(predecessor, delivery, now):
        return Reason.BEHIND_OTHER_DELIVERY
    return delivery.reason or Reason.QUEUED


def next_part(delivery: Delivery) -> int | None:
    """Return the index of the part to handle next; None if no part needs handling.

    A part with an unclear outcome comes first, then the first part that is not handed over. After
    a lost part, no further part is posted.
    """
    parts = list(enumerate(delivery.parts))
    unclear = [index for index, part in parts if part.status == "sending"]
    if not unclear and any(part.lost for part in delivery.parts):
        return None
    return next(iter([*unclear, *(index for index, part in parts if not part.handed_over)]), None)


def next_attempt(delivery: Delivery, otherwise: datetime) -> datetime | None:
    """Return when the delivery is due next; None if the delivery is settled.

    Args:
        delivery: The delivery, with its status from `status_of`.
        otherwise: When the delivery is due if its next part may be posted at once.
    """
    if delivery.settled:
        return None
    if delivery.lease_until is not None:
        return delivery.lease_until
    index = next_part(delivery)
    if index is None:
        return otherwise
    at = delivery.parts[index].next_at or otherwise
    return max(at, delivery.waits_until(index) or at)


def _moved(
    part: DeliveryPart,
    status: SmsStatus,
    error_code: int | None,
    channel: Channel,
    now: datetime,
) -> DeliveryPart:
    """Return the part with a status from Twilio, or unchanged if the status is not newer."""
    if RANKS[status] <= RANKS[part.status]:
        return part
    if status not in {"failed", "undelivered"}:
        return part.model_copy(update={"status": status, "next_at": None})
    again = next_try(part, now) if error_code in channel.temporary_errors else None
    if error_code in channel.closed_errors and part.content is None:
        again = now + TEMPLATE_WAIT
    return part.model_copy(update={"status": status, "error_code": error_code, "next_at": again})


def _while_unclear(part: DeliveryPart, status: PartStatus, at: datetime | None) -> DeliveryPart:
    """Return the part with a new status and due time; unchanged if its outcome is known."""
    if part.status != "sending":
        return part
    return part.model_copy(update={"status": status, "next_at": at})
