"""Daily limits on SMS segments or other units of a channel, and the sending pace of a line.

All these limits are token buckets (`models/quotas/limit.py`). A delivery is charged once, before
its first post, to its line and to a person: the recipient, unless another person is charged for the
delivery. The bucket for a line's pace may be overdrawn. The delivery then waits until the bucket
has regained as many segments as the delivery took. So all SMS of a line wait in one queue of Skein,
and Twilio's queue stays short.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.errors import Ambiguous
from skein.models.common.base import rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key
from skein.models.delivery.delivery import Delivery
from skein.models.directory.user import User
from skein.models.quotas.limit import (
    DAY,
    MINUTE,
    Allowance,
    Rate,
    owner_of_line,
    owner_on_channel,
)
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import known_first, optimistic
from skein.settings import Settings

NEAR = 0.8  # of a limit; an alarm is raised from here
LONG_QUEUE = timedelta(minutes=5)  # the person is told about a longer wait
NOTICE_SHARE = 4  # at most one of four segments of a line is a notice about the queue

logger = logging.getLogger(__name__)


class SegmentRates(NamedTuple):
    """The sizes of the buckets of a delivery.

    Attributes:
        person: Segments of the person per day.
        line: Segments of the line per day.
        sending: Segments that the line sends per minute.
    """

    person: Rate
    line: Rate
    sending: Rate

    @property
    def notices(self) -> Rate:
        """The rate at which the line may send notices of a long queue: a share of its pace."""
        return self.sending._replace(size=max(1, self.sending.size // NOTICE_SHARE))


class Turn(NamedTuple):
    """The turn of a delivery in the queue.

    Attributes:
        send_at: The time at which the line has capacity for the delivery.
        announced: Whether the person at once gets a notice that the message waits in a long queue.
    """

    send_at: datetime
    announced: bool


def segment_keys(delivery: Delivery) -> tuple[Key, ...]:
    """Return the keys of the person's and the line's buckets, and of the person's record."""
    return (
        *(Allowance.key_of(delivery.tenant, owner) for owner in _owners_of(delivery)),
        User.key_of(delivery.tenant, delivery.payer_id),
    )


def _owners_of(delivery: Delivery) -> tuple[str, str]:
    channel = delivery.to.channel
    return (
        owner_on_channel(channel, delivery.payer_id),
        owner_of_line(channel, delivery.to.line.address),
    )


def segment_rates(
    settings: Settings, user: User | None, now: datetime, *, pace: int
) -> SegmentRates:
    """Return the rates of a delivery; an unknown caller has a smaller limit on the first day.

    Args:
        pace: The units that the line sends per minute; 0 for no limit.
    """
    new = user is not None and user.caller and now - user.created_at < DAY
    return SegmentRates(
        Rate(settings.new_number_segments_per_day if new else settings.user_segments_per_day, DAY),
        Rate(settings.line_segments_per_day, DAY),
        Rate(pace, MINUTE),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLimiter:
    """The service that charges deliveries to a person and a line."""

    table: Table
    clock: Clock
    metrics: Metrics

    def take_turn(
        self, delivery: Delivery, rates: SegmentRates, known: Mapping[Key, Item]
    ) -> Turn | None:
        """Charge a delivery, and return its turn in the line's queue.

        One transaction writes both owners' buckets. If a worker dies afterwards, the delivery stays
        charged but is not sent. So a delivery can be charged twice, but is never sent without a
        charge.

        Args:
            delivery: The delivery, with its parts.
            rates: The sizes of the buckets.
            known: The items under `segment_keys`, as read before.

        Returns:
            The turn; None if a daily limit is reached.

        Raises:
            Transient: The table failed.
        """
        keys = segment_keys(delivery)[:2]
        found = known_first(known, lambda: self.table.get_many(keys))
        return optimistic(self.clock, lambda: self._take_once(delivery, rates, found()))

    def _take_once(
        self, delivery: Delivery, rates: SegmentRates, found: Mapping[Key, Item]
    ) -> Turn | None:
        person, line = (
            Allowance.from_optional(
                found.get(Allowance.key_of(delivery.tenant, owner)), delivery.tenant, owner
            )
            for owner in _owners_of(delivery)
        )
        now = self.clock.now()
        segments = sum(part.segments for part in delivery.parts)
        limits = (person, rates.person), (line, rates.line)
        if any(rate.waiting(each.segments_full_at, segments, now) for each, rate in limits):
            self.metrics.count("OverLimit")
            logger.warning(
                "SMS refused by a limit of segments",
                extra={"delivery_id": delivery.id, "reason": Reason.SEGMENT_LIMIT},
            )
            return None
        wait = rates.sending.waiting(line.sending_full_at, segments, now)
        announced = wait > LONG_QUEUE and not (
            rates.notices.waiting(line.notices_full_at, 1, now)
            or (person.notices_full_at is not None and person.notices_full_at > now)
        )
        turn = Turn(now + wait, announced)
        self._charge(person, line, rates, segments + announced, turn)
        for allowance, rate in limits:
            self._warn(allowance, rate, segments, now)
        return turn

    def _charge(
        self, person: Allowance, line: Allowance, rates: SegmentRates, segments: int, turn: Turn
    ) -> None:
        now = self.clock.now()
        of_person, of_line = (
            {"segments_full_at": rate.after(each.segments_full_at, segments, now)}
            if rate.limited
            else {}
            for each, rate in ((person, rates.person), (line, rates.line))
        )
        if rates.sending.limited:
            of_line["sending_full_at"] = rates.sending.after(line.sending_full_at, segments, now)
        if turn.announced:
            of_person["notices_full_at"] = turn.send_at
            of_line["notices_full_at"] = rates.notices.after(line.notices_full_at, 1, now)
        changes = (person, of_person), (line, of_line)
        writes = [each.changed(now, **change)[1] for each, change in changes if change]
        if not writes:
            return
        try:
            self.table.transact(writes)
        except Ambiguous:
            # The delivery may have been charged; charging it again would delay it twice.
            logger.warning("outcome of charging an SMS to the limits of segments unknown")

    def _warn(self, before: Allowance, rate: Rate, segments: int, now: datetime) -> None:
        """Count a warning if a delivery leaves less than a fifth of a daily limit."""
        if not rate.limited:
            return
        used = rate.used(before.segments_full_at, now)
        if used < rate.size * NEAR <= used + segments:
            self.metrics.count("SegmentLimitsNear")
            logger.warning(
                "a limit of SMS segments is nearly used up",
                extra={"owner": before.owner, "at": rfc3339(now)},
            )
