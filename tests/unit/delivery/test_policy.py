"""The policy of deliveries fits the numbers that have to stay elsewhere."""

from datetime import UTC, datetime, timedelta

from skein.adapters.twilio.sms import CONNECT_SECONDS, READ_SECONDS
from skein.models.delivery.delivery import Delivery, DeliveryPart
from skein.models.outbox.jobs import MAX_DELAY_SECONDS
from skein.services.delivery import policy
from skein.services.outbox.tick import RETRY
from skein.settings import Settings
from tests.support.routes import sms_route
from tests.support.template import deployed_template

NOW = datetime(2026, 2, 18, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TICK_INTERVAL = timedelta(minutes=1)
SETTINGS = Settings()
RESOURCES = deployed_template().document["Resources"]
FUNCTION = RESOURCES["SmsDelivery"]["Properties"]
QUEUE = RESOURCES["DeliveriesQueue"]["Properties"]


def delivery(*, status: str = "queued") -> Delivery:
    return Delivery.model_validate(
        {
            "tenant": "acme",
            "id": "dlv_1",
            "chat_id": "chat_1",
            "user_id": "usr_1",
            "agent_id": "agt_a",
            "seq": 1,
            "to": sms_route(line="+14155550100", phone="+14155550199"),
            "status": status,
            "created_at": NOW,
        }
    )


def test_a_look_up_and_a_post_fit_into_the_time_that_is_kept_for_them() -> None:
    requests = timedelta(seconds=2 * (CONNECT_SECONDS + READ_SECONDS))
    assert requests < policy.POST_TIME < timedelta(seconds=FUNCTION["Timeout"])


def test_a_lease_ends_after_the_invocation_and_before_the_queue_brings_the_job_back() -> None:
    longest = policy.lease_end(NOW + timedelta(seconds=FUNCTION["Timeout"])) - NOW
    assert timedelta(0) < policy.DELIVERY_LEASE_MARGIN
    assert longest < timedelta(seconds=QUEUE["VisibilityTimeout"])


def test_the_queue_gives_a_job_up_only_after_the_tick_has_sent_it_again() -> None:
    received = QUEUE["RedrivePolicy"]["maxReceiveCount"]
    queue_gives_up = timedelta(seconds=QUEUE["VisibilityTimeout"]) * received
    first_by_tick = policy.grace_end(NOW) - NOW + RETRY.wait(1)
    assert first_by_tick < queue_gives_up


def test_queue_delay_rounds_up_and_is_at_most_the_queues_maximum() -> None:
    assert policy.queue_delay(timedelta(seconds=2.5)) == 3
    assert policy.queue_delay(timedelta(hours=1)) == MAX_DELAY_SECONDS


def test_ambiguous_post_is_looked_up_before_its_retry_and_until_it_expires() -> None:
    first = policy.next_look_up(NOW)
    assert first < NOW + policy.RETRY.waits[0], (
        f"LOOK_UP_PAUSE is {policy.LOOK_UP_PAUSE}, but must be less than the first of RETRY.waits, "
        f"which is {policy.RETRY.waits[0]}"
    )
    assert policy.may_look_up_again(NOW, first)
    assert not policy.may_look_up_again(NOW, NOW + policy.MAX_UNCLEAR)
    assert policy.look_up_from(NOW) == NOW - policy.CLOCK_SKEW


def test_a_text_waits_for_the_one_before_it_only_so_long() -> None:
    end = NOW + policy.ORDER_WAIT
    assert policy.ORDER_WAIT.total_seconds() > policy.ORDER_CHECK_SECONDS
    before = delivery()
    assert policy.waits_for(before, delivery(), end - SECOND)
    assert not policy.waits_for(before, delivery(), end)
    assert not policy.waits_for(delivery(status="sent"), delivery(), NOW)
    assert not policy.waits_for(None, delivery(), NOW)


def test_a_part_is_posted_once_and_after_each_wait() -> None:
    tries = [
        DeliveryPart(body="hi", segments=1, tries=n) for n in range(1, policy.RETRY.max_tries + 1)
    ]
    waits = [at and at - NOW for at in (policy.next_try(part, NOW) for part in tries)]
    assert waits == [*policy.RETRY.waits, None]
    over = [policy.tries_are_over(part) for part in tries]
    assert over == [*(False for _ in policy.RETRY.waits), True]


def test_retry_waits_are_at_least_the_interval_of_the_tick() -> None:
    events = RESOURCES["Tick"]["Properties"]["Events"].values()
    rates = {event["Properties"]["Schedule"] for event in events}
    assert rates == {"rate(1 minute)"}
    for wait in policy.RETRY.waits:
        assert wait >= TICK_INTERVAL, (
            f"a wait of {wait.total_seconds():.0f} seconds is shorter than the interval of the "
            f"tick, which sends the retries: {TICK_INTERVAL.total_seconds():.0f} seconds"
        )


def test_another_post_begins_only_while_there_is_time_for_it() -> None:
    assert policy.time_for_another_post(NOW + policy.POST_TIME, NOW)
    assert not policy.time_for_another_post(NOW + policy.POST_TIME - SECOND, NOW)
