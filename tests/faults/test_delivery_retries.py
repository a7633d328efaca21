"""Texts that Twilio refuses, or cannot take now: tried again, and given up in the end."""

import pytest

from skein.channels.segments import MAX_PART_UNITS
from skein.errors import SmsRejected, Throttled, Unavailable
from skein.services.delivery.policy import RETRY
from tests.fakes.sms import Fault
from tests.support.sms import Texting, after, parts

WAITS = tuple(wait.total_seconds() for wait in RETRY.waits)  # whole minutes


@pytest.mark.parametrize(
    "error",
    [Throttled("slow"), Unavailable("down"), SmsRejected("queue full", code=30001)],
    ids=["throttled", "unavailable", "passing error"],
)
def test_temporary_refusal_is_retried_after_each_wait_and_then_fails(error: Exception) -> None:
    world = Texting()
    job = world.say()
    assert isinstance(error, Throttled | Unavailable | SmsRejected)
    world.sms.plan(*[Fault(error)] * RETRY.max_tries)

    delivery = world.deliver(job)
    for tries, wait in enumerate(WAITS, start=1):
        assert parts(delivery) == [("failed", tries)]
        assert world.due_at(job) == after(sum(WAITS[:tries]))
        assert parts(world.later(job, seconds=wait - 60)) == [("failed", tries)]
        assert world.metrics.counts["DeliveriesFailed"] == 0
        delivery = world.later(job, seconds=60)

    assert parts(delivery) == [("failed", RETRY.max_tries)]
    assert delivery.status == "failed"
    assert world.due_at(job) is None
    assert world.metrics.counts["DeliveriesFailed"] == 1
    assert world.sms.asked == RETRY.max_tries


def test_retry_is_posted_by_the_first_tick_after_its_wait() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Unavailable("down")))
    world.clock.advance(20)
    world.deliver(job)
    assert world.due_at(job) == after(20 + WAITS[0])
    assert parts(world.later(job, seconds=WAITS[0] + 39)) == [("failed", 1)]
    assert parts(world.later(job, seconds=1)) == [("queued", 2)]


def test_retry_after_a_status_report_is_posted_by_the_first_tick_after_its_wait() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.clock.advance(20)
    world.report(job, "undelivered", code=30003)
    assert world.sms.asked == 1
    assert parts(world.later(job, seconds=WAITS[0] + 39)) == [("undelivered", 1)]
    assert parts(world.later(job, seconds=1)) == [("queued", 2)]


def test_a_retry_that_succeeds_settles_the_delivery() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Unavailable("down")))
    world.deliver(job)
    assert world.later(job, seconds=WAITS[0]).status == "sent"
    assert world.sms.bodies == ["Hello!"]


def test_undelivered_callback_for_unreachable_phone_retries_delivery() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.report(job, "undelivered", code=30003)

    delivery = world.delivery(job)
    assert (delivery.status, delivery.ended_at) == ("sending", None)
    assert world.due_at(job) == after(WAITS[0])
    delivery = world.later(job, seconds=WAITS[0])

    assert delivery.status == "sent"
    assert delivery.parts[0].sid == world.sms.taken[1][1].sid
    assert delivery.parts[0].earlier_sids == (world.sms.taken[0][1].sid,)


def test_a_retry_does_not_inherit_the_ticks_patience_with_the_try_before() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(*[Fault(Throttled("slow"))] * 2)
    world.deliver(job)
    world.clock.advance(WAITS[0])
    world.tick()
    stored = world.table.get(world.delivery(job).key)
    assert stored is not None
    assert stored["due_tries"] == 1
    world.run_ready()
    stored = world.table.get(world.delivery(job).key)
    assert stored is not None
    assert "due_tries" not in stored


def test_permanent_refusal_fails_at_once_and_withholds_the_other_parts() -> None:
    world = Texting()
    job = world.say("a" * MAX_PART_UNITS + "b")
    world.sms.plan(Fault(SmsRejected("no such number", code=21211)))
    delivery = world.deliver(job)
    assert parts(delivery) == [("failed", 1), ("pending", 0)]
    assert delivery.status == "failed"
    assert world.due_at(job) is None
    assert world.metrics.counts["DeliveriesFailed"] == 1


def test_later_parts_wait_for_one_that_is_tried_again() -> None:
    world = Texting()
    job = world.say("a" * MAX_PART_UNITS + "b")
    world.sms.plan(Fault(Throttled("slow")))
    world.deliver(job)
    assert world.sms.bodies == []
    world.later(job, seconds=WAITS[0])
    assert [body[0] for body in world.sms.bodies] == ["a", "b"]
