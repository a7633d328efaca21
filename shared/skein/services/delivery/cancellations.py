"""Reasons to cancel a delivery, and the change that cancels it."""

from typing import NamedTuple

from skein.models.common.reason import Reason
from skein.models.delivery.delivery import Delivery
from skein.services.delivery.store import DeliveryUpdate


class Cancellation(NamedTuple):
    """Why a delivery is canceled: the reason, and an error text for operators."""

    reason: Reason
    error: str


PERSON_OPTED_OUT = Cancellation(Reason.OPTED_OUT, "the person has opted out")
PERSON_LEFT = Cancellation(Reason.PERSON_LEFT, "the person has left")
NUMBER_LOST = Cancellation(Reason.NUMBER_LOST, "the phone number no longer belongs to the person")
DELETED = Cancellation(Reason.MESSAGE_DELETED, "the message was deleted")
CHOICE_OVER = Cancellation(Reason.CHOICE_OVER, "the question was over before it was sent")
NOT_ANSWERED = Cancellation(Reason.NUMBER_NOT_ANSWERED, "the line does not answer this number")
WINDOW_OVER = Cancellation(Reason.WINDOW_CLOSED, "the window of the channel is closed")
SEGMENTS_USED_UP = Cancellation(Reason.SEGMENT_LIMIT, "the SMS segments of the day are used up")
NOTHING_TO_SEND = Cancellation(Reason.NOTHING_TO_SEND, "the message has no text to send")


def canceled(cause: Cancellation) -> DeliveryUpdate:
    """Return a change that cancels a delivery, unless all its parts were handed to the provider."""

    def cancel(delivery: Delivery) -> Delivery:
        if delivery.parts and all(part.handed_over for part in delivery.parts):
            return delivery
        return delivery.model_copy(
            update={"status": "canceled", "error": cause.error, "reason": cause.reason}
        )

    return cancel
