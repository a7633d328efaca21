"""What becomes of a text: how each event moves a part on, and what the parts make of a delivery.

Pure functions from what was known to what is known now. A part's status only moves forward within
one try; a new try is counted in `tries`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from skein.models.delivery import Delivery, DeliveryPart, DeliveryStatus, PartStatus
from skein.models.sms import SentSms, SmsStatus, StatusReport
from skein.services.delivery.policy import may_pass, next_try
from skein.services.delivery.segments import segment_count, split_text

RANKS: dict[PartStatus, int] = {
    "pending": 0,
    "sending": 1,
    "queued": 2,
    "sent": 3,
    "delivered": 4,
    "undelivered": 4,
    "failed": 4,
}

PartChange = Callable[[DeliveryPart], DeliveryPart]


def parts_of(text: str) -> tuple[DeliveryPart, ...]:
    """The parts of a message that has not been sent yet; none for white space alone."""
    return tuple(DeliveryPart(body=body, segments=segment_count(body)) for body in split_text(text))


def intended(part: DeliveryPart, now: datetime, look_at: datetime) -> DeliveryPart:
    """The part as it is about to be posted; its outcome is looked for at `look_at`."""
    earlier = (*part.earlier_sids, part.sid) if part.sid else part.earlier_sids
    return part.model_copy(
        update={
            "status": "sending",
            "sid": None,
            "earlier_sids": earlier,
            "tries": part.tries + 1,
            "intent_at": now,
            "next_at": look_at,
            "error_code": None,
        }
    )


def answered(part: DeliveryPart, sent: SentSms, now: datetime) -> DeliveryPart:
    """The part after Twilio took it and said under which id.

    A callback may have been quicker. If it spoke of another id, that is an earlier post of this
    part which had taken effect after all; the newest id is the part's own.
    """
    if part.sid is not None and part.sid != sent.sid:
        part = part.model_copy(update={"earlier_sids": (*part.earlier_sids, part.sid)})
    part = part.model_copy(update={"sid": sent.sid})
    return _moved(part, sent.status, sent.error_code, now)


def reported(part: DeliveryPart, report: StatusReport, now: datetime) -> DeliveryPart:
    """The part after a status callback, which may be late, early, or there twice."""
    if report.sid == part.sid:
        return _moved(part, report.status, report.error_code, now)
    if report.sid in part.earlier_sids:
        return part
    if part.status == "sending":
        part = part.model_copy(update={"sid": report.sid})
        return _moved(part, report.status, report.error_code, now)
    return part.model_copy(update={"earlier_sids": (*part.earlier_sids, report.sid)})


def refused(part: DeliveryPart, code: int | None, now: datetime) -> DeliveryPart:
    """The part after Twilio refused it with this error."""
    return _moved(part, "failed", code, now)


def not_taken(part: DeliveryPart, now: datetime) -> DeliveryPart:
    """The part after Twilio was out of reach or too busy, so that another try is safe."""
    return _while_unclear(part, {"status": "failed", "next_at": next_try(part, now)})


def given_up(part: DeliveryPart) -> DeliveryPart:
    """The part when nobody can find out any more what became of it."""
    return _while_unclear(part, {"status": "failed", "next_at": None})


def looked_at_later(part: DeliveryPart, at: datetime) -> DeliveryPart:
    """The part when it could not be found out yet what became of it."""
    return _while_unclear(part, {"next_at": at})


def with_part(delivery: Delivery, index: int, change: PartChange) -> Delivery:
    """The delivery after one of its parts has changed."""
    parts = list(delivery.parts)
    parts[index] = change(parts[index])
    return delivery.model_copy(update={"parts": tuple(parts)})


def status_of(delivery: Delivery) -> DeliveryStatus:
    """What the parts make of the delivery.

    Parts are posted one after another, so behind one that is lost nothing follows.
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
    return "delivered" if all(part.status == "delivered" for part in parts) else "sent"


def next_part(delivery: Delivery) -> int | None:
    """The part that something is to be done for; None when there is none.

    An unclear one comes first; else the first that is not handed over, unless one is lost.
    """
    parts = list(enumerate(delivery.parts))
    unclear = [index for index, part in parts if part.status == "sending"]
    if not unclear and any(part.lost for part in delivery.parts):
        return None
    return next(iter([*unclear, *(index for index, part in parts if not part.handed_over)]), None)


def next_look(delivery: Delivery, otherwise: datetime) -> datetime | None:
    """When something must be done for the delivery; None when nothing need be done any more.

    Args:
        delivery: With its status as `status_of` has it.
        otherwise: When to look at a part that may be posted at once.
    """
    if delivery.settled:
        return None
    if delivery.lease_until is not None:
        return delivery.lease_until
    index = next_part(delivery)
    return otherwise if index is None else delivery.parts[index].next_at or otherwise


def _moved(
    part: DeliveryPart, status: SmsStatus, error_code: int | None, now: datetime
) -> DeliveryPart:
    """The part after Twilio told its status, unless that is old news."""
    if RANKS[status] <= RANKS[part.status]:
        return part
    if status not in {"failed", "undelivered"}:
        return part.model_copy(update={"status": status, "next_at": None})
    return part.model_copy(
        update={
            "status": status,
            "error_code": error_code,
            "next_at": next_try(part, now) if may_pass(error_code) else None,
        }
    )


def _while_unclear(part: DeliveryPart, change: dict[str, Any]) -> DeliveryPart:
    """The changed part, unless a callback has told by now what became of it."""
    return part.model_copy(update=change) if part.status == "sending" else part
