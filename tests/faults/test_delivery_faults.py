"""Texts on their way out when an answer is lost or a worker dies: each goes out once."""

from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from skein.channels.segments import MAX_PART_UNITS
from skein.channels.whatsapp import WINDOW_CLOSED
from skein.errors import Ambiguous, SmsRejected, Unavailable
from skein.models.common.address import route_on
from skein.models.common.base import rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Write
from skein.models.config.overrides import TenantOverridesChange
from skein.models.config.templates import MessageTemplate
from skein.models.delivery.sms import OutgoingSms, SentSms
from skein.models.outbox.jobs import DeliveryJob
from skein.services.config.tenant_settings import TenantSettingsService
from skein.services.delivery import policy
from skein.services.delivery.sender import SmsSender
from tests.fakes.sms import Fault
from tests.support.builders import LINE, NOON, PHONE, TENANT, person
from tests.support.fakes import Fuse, Killed
from tests.support.sms import TIME_OUT, Texting, after, parts

FULL = "a" * MAX_PART_UNITS  # a whole part


# ---------------------------------------------------------------------- unclear posts


def test_an_unclear_post_that_took_effect_is_found_and_not_repeated() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True))

    assert parts(world.deliver(job)) == [("sending", 1)]
    assert world.due_at(job) == after(policy.LOOK_UP_PAUSE.total_seconds())
    world.drain()

    delivery = world.delivery(job)
    assert (delivery.status, delivery.parts[0].sid) == ("sent", world.sms.taken[0][1].sid)
    assert world.sms.asked == 1


def test_an_unclear_post_without_effect_is_repeated_after_a_minute() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Ambiguous("lost")))
    world.deliver(job)
    world.drain()
    assert world.sms.bodies == ["Hello!"]
    assert parts(world.delivery(job)) == [("queued", 2)]
    assert world.clock.now() >= NOON + policy.LOOK_UP_PAUSE


def test_the_callback_of_an_unclear_post_settles_it_without_a_look_up() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True))
    world.deliver(job)
    world.report(job, "sent")
    assert world.delivery(job).status == "sent"
    assert world.due_at(job) is None
    world.drain()
    assert world.sms.asked == 1


def test_a_callback_while_the_text_is_looked_up_in_vain_settles_it() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True))
    world.deliver(job)

    def lagging(sms: OutgoingSms, *, since: datetime) -> tuple[SentSms, ...]:
        world.report(job, "sent")
        return ()

    world.sms.find = lagging  # type: ignore[method-assign]
    world.drain()
    assert world.delivery(job).status == "sent"
    assert world.sms.asked == 1


def test_a_callback_may_overtake_the_answer() -> None:
    world = Texting()
    job = world.say()
    send = world.sms.send

    def callback_first(sms: OutgoingSms) -> SentSms:
        sent = send(sms)
        world.report(job, "delivered", sid=sent.sid)
        return sent

    world.sms.send = callback_first  # type: ignore[method-assign]
    delivery = world.deliver(job)
    assert (delivery.status, parts(delivery)) == ("delivered", [("delivered", 1)])


def test_a_post_that_is_unclear_at_each_try_is_given_up() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(*[Fault(Ambiguous("lost"))] * policy.RETRY.max_tries)
    world.deliver(job)
    world.drain()
    assert (world.delivery(job).status, world.sms.asked) == ("failed", policy.RETRY.max_tries)
    assert world.due_at(job) is None


def test_while_twilio_cannot_be_asked_nothing_is_sent_twice() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True))
    world.sms.plan_find(*[Unavailable("down")] * 3)
    world.deliver(job)
    world.drain()
    assert world.delivery(job).status == "sent"
    assert world.sms.asked == 1


def test_after_an_hour_without_an_answer_a_text_fails_rather_than_be_sent_twice() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Ambiguous("lost")))
    world.sms.plan_find(*[Unavailable("down")] * 100)
    world.deliver(job)
    world.drain()
    assert world.delivery(job).status == "failed"
    assert world.sms.asked == 1


def test_the_same_words_sent_before_are_not_taken_for_the_lost_ones() -> None:
    world = Texting()
    world.deliver(world.say("ok"))
    job = world.say("ok")
    world.sms.plan(Fault(Ambiguous("lost")))
    world.deliver(job)
    world.drain()
    assert world.sms.bodies == ["ok", "ok"]
    assert world.delivery(job).parts[0].sid == world.sms.taken[1][1].sid


def test_ambiguous_posts_with_equal_text_are_matched_to_their_own_sms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(policy, "ORDER_WAIT", timedelta(0))
    world = Texting()
    first, second = world.say("ok"), world.say("ok")
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True), Fault(Ambiguous("lost")))
    world.deliver(first)
    world.deliver(second)
    world.clock.advance(policy.LOOK_UP_PAUSE.total_seconds() + 1)
    assert parts(world.deliver(second)) == [("sending", 1)]  # the earlier one chooses first
    world.drain()
    world.later(first, minutes=2)
    world.drain()
    sids = [world.delivery(job).parts[0].sid for job in (first, second)]
    assert sids == [sent.sid for _, sent in world.sms.taken]
    assert world.sms.bodies == ["ok", "ok"]


# ---------------------------------------------------------------------- dead and slow workers


def killed(
    strike: int, text: str, *, after_effect: bool, world: Texting | None = None
) -> tuple[Texting, DeliveryJob, Fuse]:
    """Kill the worker at one call to the outside, and let everything else do its work."""
    world, fuse = world or Texting(), Fuse()
    job = world.say(text)
    fused = SmsSender(
        table=fuse.guard(world.table, "table", ("get", "get_many", "query", "write")),
        clock=world.clock,
        sms=fuse.guard(world.sms, "sms", ("send", "find")),
        dispatch=world.app.dispatch,
        metrics=world.metrics,
        usage=world.app.usage,
        settings=world.settings,
    )
    fuse.arm(strike, after=after_effect)
    with suppress(Killed):
        fused.deliver(job, deadline=world.clock.now() + TIME_OUT)
    for _ in range(5):
        world.later(job, seconds=61)
    return world, job, fuse


@pytest.mark.parametrize("after_effect", [True, False])
@pytest.mark.parametrize("text", ["a", FULL + "b" * MAX_PART_UNITS + "c"], ids=["one", "three"])
def test_wherever_a_worker_dies_each_part_goes_out_once(text: str, after_effect: bool) -> None:
    _, _, fuse = killed(0, text, after_effect=after_effect)
    for strike in range(1, len(fuse.calls) + 1):
        world, job, _ = killed(strike, text, after_effect=after_effect)
        assert world.delivery(job).status == "sent"
        assert [body[0] for body in world.sms.bodies] == sorted(set(text))
        assert world.due_at(job) is None


def outside_the_window(*, known: bool) -> Texting:
    """A person on WhatsApp, whose window is closed; or Twilio alone knows that it is."""
    world = Texting()
    template = MessageTemplate(content_sid="HX" + "0" * 32, text="Note: {{1}}", approved=True)
    change = TenantOverridesChange(message_templates=(template,))
    TenantSettingsService(table=world.table, clock=world.clock).change(TENANT, change)
    route = route_on("whatsapp", line=LINE, person=PHONE)
    world.post("Hi", person(), route=route, no_run_reason=Reason.RATE_LIMITED)
    if known:
        world.clock.advance(25 * 3_600)
    send = world.sms.send

    def refuse(sms: OutgoingSms) -> SentSms:
        if sms.content is None:
            raise SmsRejected("closed", code=WINDOW_CLOSED)
        return send(sms)

    world.sms.send = refuse  # type: ignore[method-assign]
    return world


@pytest.mark.parametrize("after_effect", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_wherever_a_worker_dies_a_template_goes_out_once(known: bool, after_effect: bool) -> None:
    _, _, fuse = killed(0, "a", after_effect=after_effect, world=outside_the_window(known=known))
    for strike in range(1, len(fuse.calls) + 1):
        closed = outside_the_window(known=known)
        world, job, _ = killed(strike, "a", after_effect=after_effect, world=closed)
        assert world.delivery(job).status == "sent"
        assert [(sms.body, sms.content is not None) for sms, _ in world.sms.taken] == [
            ("Note: a", True)
        ]
        assert world.due_at(job) is None


def die(world: Texting, *, after_effect: bool) -> None:
    send = world.sms.send

    def deadly(sms: OutgoingSms) -> SentSms:
        world.sms.send = send  # type: ignore[method-assign]
        if after_effect:
            send(sms)
        raise Killed("at the post")

    world.sms.send = deadly  # type: ignore[method-assign]


@pytest.mark.parametrize("after_effect", [True, False])
def test_a_worker_that_dies_at_the_post_is_taken_over_and_one_text_goes_out(
    after_effect: bool,
) -> None:
    world = Texting()
    job = world.say()
    die(world, after_effect=after_effect)
    with pytest.raises(Killed):
        world.deliver(job)

    assert world.due_at(job) == rfc3339(policy.lease_end(NOON + TIME_OUT))
    assert parts(world.deliver(job)) == [("sending", 1)]  # the lease still holds
    world.later(job, minutes=3)
    world.drain()

    assert world.sms.bodies == ["Hello!"]
    assert world.delivery(job).status == "sent"


def test_a_worker_that_outlived_its_lease_changes_nothing() -> None:
    world = Texting()
    job = world.say(FULL + "b")
    send = world.sms.send

    def slow(sms: OutgoingSms) -> SentSms:
        world.sms.send = send  # type: ignore[method-assign]
        sent = send(sms)
        world.clock.advance(120)
        world.deliver(job)
        return sent

    world.sms.send = slow  # type: ignore[method-assign]
    delivery = world.deliver(job)
    assert [body[0] for body in world.sms.bodies] == ["a", "b"]
    assert parts(delivery) == [("queued", 1), ("queued", 1)]
    assert delivery.fence == 2


def test_a_worker_that_outlived_its_lease_does_not_touch_its_successors() -> None:
    world = Texting()
    job = world.say(FULL + "b")
    send = world.sms.send

    def dies(sms: OutgoingSms) -> SentSms:
        raise Killed("at the second part")

    def slow(sms: OutgoingSms) -> SentSms:
        sent = send(sms)
        world.clock.advance(120)
        world.sms.send = dies  # type: ignore[method-assign]
        with suppress(Killed):
            world.deliver(job)
        world.sms.send = send  # type: ignore[method-assign]
        return sent

    world.sms.send = slow  # type: ignore[method-assign]
    delivery = world.deliver(job)
    assert parts(delivery) == [("queued", 1), ("sending", 1)]
    taken_over_at = NOON + timedelta(seconds=120)
    assert delivery.lease_until == policy.lease_end(taken_over_at + TIME_OUT)


def test_a_worker_without_time_hands_the_rest_on() -> None:
    world = Texting()
    job = world.say(FULL + "b")
    send = world.sms.send

    def slow(sms: OutgoingSms) -> SentSms:
        world.clock.advance(40)
        return send(sms)

    world.sms.send = slow  # type: ignore[method-assign]
    delivery = world.deliver(job)
    assert parts(delivery) == [("queued", 1), ("pending", 0)]
    assert delivery.lease_until is None
    assert [waiting.job for waiting in world.queues.waiting("deliveries")] == [job]
    world.drain()
    assert [body[0] for body in world.sms.bodies] == ["a", "b"]


@pytest.mark.parametrize("after_effect", [True, False])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_write_whose_answer_is_lost_neither_loses_nor_doubles_a_text(
    nth: int, after_effect: bool
) -> None:
    world = Texting()
    job = world.say()
    really, writes = world.table.write, 0

    def lossy(write: Write) -> None:
        nonlocal writes
        writes += 1
        if writes != nth or after_effect:
            really(write)
        if writes == nth:
            raise Ambiguous("lost")

    world.table.write = lossy  # type: ignore[method-assign]
    delivery = world.deliver(job)
    assert (delivery.status, parts(delivery)) == ("sent", [("queued", 1)])
    assert world.sms.asked == 1


def test_a_lost_job_is_found_by_the_tick() -> None:
    world = Texting()
    job = world.say()
    assert world.later(job, seconds=61).status == "sent"
