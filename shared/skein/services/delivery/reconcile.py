"""Find out whether Twilio accepted a post: look up the SMS by from, to, body and time."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from skein.errors import Transient
from skein.models.common.reason import Reason
from skein.models.delivery.delivery import Delivery
from skein.models.delivery.sms import SentSms
from skein.ports import Clock, Sms
from skein.services.delivery.composing import sms_of_part
from skein.services.delivery.policy import (
    look_up_from,
    may_look_up_again,
    next_look_up,
    tries_are_over,
)
from skein.services.delivery.state import answered, given_up, postponed
from skein.services.delivery.store import DeliveryLease, DeliveryStore
from skein.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLookup:
    """Looks up posts whose outcome is unclear."""

    store: DeliveryStore
    clock: Clock
    sms: Sms
    settings: Settings

    def settle(self, lease: DeliveryLease, index: int) -> bool:
        """Look up the outcome of a post at Twilio, and store the outcome.

        Returns:
            True if the outcome is known, or if the part has to wait for the next look-up. False if
            the part must be posted again.
        """
        delivery, part, now = lease.delivery, lease.delivery.parts[index], self.clock.now()
        posted_at = part.intent_at or delivery.created_at
        later = next_look_up(now)
        try:
            found = self.sms.find(
                sms_of_part(delivery, index, self.settings), since=look_up_from(posted_at)
            )
            free = self._unowned(delivery, index, found)
        except Transient as error:
            logger.warning("failed to look up an SMS with unknown outcome: %s", error)
            patient = may_look_up_again(posted_at, now)
            lease.save_part(
                index,
                (lambda p: postponed(p, later)) if patient else given_up,
                reason=Reason.OUTCOME_UNKNOWN,
            )
            return True
        if free is None:
            lease.save_part(index, lambda p: postponed(p, later), reason=Reason.OUTCOME_UNKNOWN)
            return True
        if free:
            oldest = min(free, key=lambda sent: (sent.created_at, sent.sid))
            lease.save_part(index, lambda p: answered(p, oldest, delivery.channel, now))
            return True
        if tries_are_over(part):
            lease.save_part(index, given_up, reason=Reason.OUTCOME_UNKNOWN)
            return True
        return False

    def _unowned(
        self, delivery: Delivery, index: int, found: Sequence[SentSms]
    ) -> list[SentSms] | None:
        """Return the SMS in `found` that are not yet recorded as posts of any part.

        Returns:
            The SMS. None if this part must wait, because the chat has an earlier delivery with the
            same text and an unclear outcome. The outcome of the earlier delivery is looked up
            first.
        """
        if not found:
            return []
        others = self.store.neighbours(delivery)
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
