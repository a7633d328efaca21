"""What became of a post whose answer was lost: looked up at Twilio, by from, to, body and time."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from skein.errors import Transient
from skein.models.delivery import Delivery
from skein.models.sms import OutgoingSms, SentSms
from skein.ports import Clock, Sms
from skein.services.delivery.state import MAX_TRIES, answered, given_up, looked_at_later
from skein.services.delivery.store import DeliveryBook, Hold
from skein.settings import Settings

STATUS_PATH = "/webhooks/twilio/status"

CLOCK_SKEW = timedelta(seconds=10)  # between us and Twilio
PATIENCE = timedelta(hours=1)  # after that a text rather fails than be sent twice

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Settles unclear posts."""

    book: DeliveryBook
    clock: Clock
    sms: Sms
    settings: Settings

    def settle(self, hold: Hold, index: int) -> bool:
        """Find out what became of an unclear post.

        Returns:
            Whether that is settled, or has to wait; False when the part must be posted again.
        """
        delivery, part, now = hold.delivery, hold.delivery.parts[index], self.clock.now()
        posted_at = part.intent_at or delivery.created_at
        later = now + timedelta(seconds=self.settings.ambiguous_post_seconds)
        try:
            since = posted_at - CLOCK_SKEW
            found = self.sms.find(outgoing(delivery, index, self.settings), since=since)
            free = self._unowned(delivery, index, found)
        except Transient as error:
            logger.warning("an unclear post could not be looked up: %s", error)
            patient = now < posted_at + PATIENCE
            hold.save_part(index, (lambda p: looked_at_later(p, later)) if patient else given_up)
            return True
        if free is None:
            hold.save_part(index, lambda p: looked_at_later(p, later))
            return True
        if free:
            oldest = min(free, key=lambda sent: (sent.created_at, sent.sid))
            hold.save_part(index, lambda p: answered(p, oldest, now))
            return True
        if part.tries >= MAX_TRIES:
            hold.save_part(index, given_up)
            return True
        return False

    def _unowned(
        self, delivery: Delivery, index: int, found: Sequence[SentSms]
    ) -> list[SentSms] | None:
        """Those of the texts `found` that no other part is known to be.

        None while an earlier delivery looks for the very same words: it chooses first.
        """
        if not found:
            return []
        others = self.book.neighbours(delivery)
        body = delivery.parts[index].body
        if any(
            part.status == "sending" and part.body == body
            for other in others
            if other.id < delivery.id and not other.settled
            for part in other.parts
        ):
            return None
        owned = {sid for d in (delivery, *others) for part in d.parts for sid in part.sids}
        return [sent for sent in found if sent.sid not in owned]


def outgoing(delivery: Delivery, index: int, settings: Settings) -> OutgoingSms:
    """One part as it is handed over; its callback names delivery and part."""
    names = {
        "tenant": delivery.tenant,
        "chat": delivery.chat_id,
        "delivery": delivery.id,
        "part": index,
    }
    base = settings.public_base_url.rstrip("/")
    return OutgoingSms(
        line=delivery.to.line,
        phone=delivery.to.phone,
        body=delivery.parts[index].body,
        callback=f"{base}{STATUS_PATH}?{urlencode(names)}",
    )
