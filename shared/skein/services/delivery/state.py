"""State machine of a delivery: how events change a part, and the status that follows.

All functions are pure. Within one try, the status of a part only moves forward. A new try raises
`tries`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from skein.models.delivery.delivery import Delivery, DeliveryPart, DeliveryStatus, PartStatus
from skein.models.delivery.sms import SentSms, SmsStatus, StatusReport
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

PartUpdate = Callable[[DeliveryPart], DeliveryPart]


def parts_of(text: str) -> tuple[DeliveryPart, ...]:
    """Split a message into unsent parts; an empty message has none."""
    return tuple(DeliveryPart(body=body, segments=segment_count(body)) for body in split_text(text))


def intended(part: DeliveryPart, now: datetime, attempt_at: datetime) -> DeliveryPart:
    """Return the part with the intent of a new try and its look-up time."""
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


def answered(part: DeliveryPart, sent: SentSms, now: datetime) -> DeliveryPart:
    """Return the part after Twilio accepted it and returned its id.

    A status callback may have come before. If the callback named another id, an earlier post of the
    part took effect after all; that id moves to `earlier_sids`, and `sid` is the newest id.
    """
    if part.sid is not None and part.sid != sent.sid:
        part = part.model_copy(update={"earlier_sids": (*part.earlier_sids, part.sid)})
    part = part.model_copy(update={"sid": sent.sid})
    return _moved(part, sent.status, sent.error_code, now)


def reported(part: DeliveryPart, report: StatusReport, now: datetime) -> DeliveryPart:
    """Return the part after a status callback, which may be late, early or repeated."""
    if report.sid == part.sid:
        return _moved(part, report.status, report.error_code, now)
    if report.sid in part.earlier_sids:
        return part
    if part.status == "sending":
        part = part.model_copy(update={"sid": report.sid})
        return _moved(part, report.status, report.error_code, now)
    return part.model_copy(update={"earlier_sids": (*part.earlier_sids, report.sid)})


def refused(part: DeliveryPart, code: int | None, now: datetime) -> DeliveryPart:
    """Return the part after Twilio refused it with this error code."""
    return _moved(part, "failed", code, now)


def not_taken(part: DeliveryPart, now: datetime) -> DeliveryPart:
    """Return the part after Twilio was unreachable or too busy; a retry is safe."""
    return _while_unclear(part, {"status": "failed", "next_at": next_try(part, now)})


def given_up(part: DeliveryPart) -> DeliveryPart:
    """Return the part as failed, because its outcome stayed unknown."""
    return _while_unclear(part, {"status": "failed", "next_at": None})


def postponed(part: DeliveryPart, at: datetime) -> DeliveryPart:
    """Return the part with a look-up at `at`; its outcome is still unknown."""
    return _while_unclear(part, {"next_at": at})


def with_part(delivery: Delivery, index: int, change: PartUpdate) -> Delivery:
    """Return the delivery with one part changed."""
    parts = list(delivery.parts)
    parts[index] = change(parts[index])
    return delivery.model_copy(update={"parts": tuple(parts)})


def status_of(delivery: Delivery) -> DeliveryStatus:
    """Return the status of a delivery, derived from its parts.

    Parts are posted one after another, so no part is posted after a lost part.
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
    """Return the index of the part to handle next; None if no part needs handling.

    A part with an unclear outcome comes first. Otherwise it is the first part that is not handed
    over, unless a part is lost.
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
        otherwise: The due time of a part that may be posted at once.
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
    """Return the part with a status from Twilio, unless the status is not newer."""
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
    """Return the changed part, unless a status callback has already set its outcome."""
    return part.model_copy(update=change) if part.status == "sending" else part
