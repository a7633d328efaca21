"""Delivery policy: when to retry an SMS, and how long a delivery's lease lasts.

This module holds the constants and rules of the policy, as pure functions. Some numbers are
elsewhere, because other code needs them too. `tests/unit/delivery/test_policy.py` checks that all
of them are consistent:

- `services/outbox/dispatch.py`: `OUTBOX_GRACE`, the time after which the tick sends a job;
- `services/outbox/tick.py`: `RETRY`, the waits until the tick sends a job again;
- `adapters/twilio/sms.py`: `CONNECT_SECONDS` and `READ_SECONDS`, the time-outs of one request;
- `template.yaml`: the `Timeout` of `SmsDelivery`, at which an invocation ends, and the
  `VisibilityTimeout` and `maxReceiveCount` of `DeliveriesQueue`.
"""

from datetime import datetime, timedelta

from skein.models.common.retry import Retry, minutes
from skein.models.delivery.delivery import Delivery, DeliveryPart
from skein.models.outbox.jobs import MAX_DELAY_SECONDS
from skein.services.outbox.dispatch import OUTBOX_GRACE

# The waits before the second and the third post; there is no fourth. Only the tick, once a minute,
# sends the job of a failed part. So a wait must be at least a minute, and may last a minute longer.
RETRY = Retry(minutes(5, 30), max_tries=3)

DELIVERY_LEASE_MARGIN = timedelta(seconds=2)  # the lease ends after the invocation, never before
ORDER_WAIT = timedelta(seconds=30)  # the longest wait for the previous SMS
ORDER_CHECK_SECONDS = 2
LOOK_UP_PAUSE = timedelta(seconds=60)  # for the status callback of an SMS with unclear outcome
TEMPLATE_WAIT = timedelta(minutes=1)  # after a refused text, until another worker sends a template
POST_TIME = timedelta(seconds=30)  # the time-outs of a look-up and a post, plus the writes
CLOCK_SKEW = timedelta(seconds=10)  # clock skew between us and Twilio
MAX_UNCLEAR = timedelta(hours=1)  # after that, an unclear SMS fails, so that it is not sent twice


def lease_end(deadline: datetime) -> datetime:
    """Return the end of a worker's lease, given the end of its invocation."""
    return deadline + DELIVERY_LEASE_MARGIN


def time_for_another_post(deadline: datetime, now: datetime) -> bool:
    """Return whether a worker has time for one more post before its invocation ends."""
    return deadline - now >= POST_TIME


def waits_for(predecessor: Delivery | None, delivery: Delivery, now: datetime) -> bool:
    """Return whether a delivery still waits for the previous delivery to the same phone."""
    if predecessor is None or predecessor.settled or predecessor.ordered_from > now:
        return False
    return now < delivery.ordered_from + ORDER_WAIT


def queue_delay(wait: timedelta) -> int:
    """Return the queue delay of a job in whole seconds, at most 900."""
    return min(int(wait.total_seconds()) + 1, MAX_DELAY_SECONDS)


def queue_notice(wait: timedelta) -> str:
    """Return the notice to a person whose answer has to wait in a long queue."""
    minutes = int(wait.total_seconds()) // 60 + 1
    return f"Many people are writing. Your answer will come in about {minutes} minutes."


def next_try(part: DeliveryPart, now: datetime) -> datetime | None:
    """Return the earliest time of a failed part's next try; None after its last try.

    The first tick after this time sends the delivery's job.
    """
    return None if tries_are_over(part) else now + RETRY.wait(part.tries)


def tries_are_over(part: DeliveryPart) -> bool:
    return RETRY.is_over(tries=part.tries)


def grace_end(now: datetime) -> datetime:
    """Return the time from which the tick sends a job, in case the job was not sent at once."""
    return now + OUTBOX_GRACE


def next_look_up(now: datetime) -> datetime:
    """Return the time of the next look-up of a post whose outcome is unclear."""
    return now + LOOK_UP_PAUSE


def look_up_from(posted_at: datetime) -> datetime:
    """Return the earliest time, by Twilio's clock, at which Twilio may have accepted an SMS."""
    return posted_at - CLOCK_SKEW


def may_look_up_again(posted_at: datetime, now: datetime) -> bool:
    """Return whether to ask the provider again for an SMS that it may or may not have accepted."""
    return now < posted_at + MAX_UNCLEAR
