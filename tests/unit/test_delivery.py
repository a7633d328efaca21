"""Texts on their way out: once, in order, with retries that end."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest

from skein.adapters.memory_outside import Fault
from skein.errors import Ambiguous, NotFound, SmsRejected, Throttled, Unavailable
from skein.models.base import rfc3339
from skein.models.chat import SmsAddress
from skein.models.delivery import Delivery
from skein.models.jobs import DeliveryJob
from skein.models.sms import OutgoingSms, SentSms, SmsStatus, StatusReport
from skein.models.storage import Delete, Update, Write
from skein.services.delivery_lookup import STATUS_PATH
from skein.settings import Settings
from tests.builders import LINE, NOON, PHONE, TENANT, World, bot, person

TIME_OUT = timedelta(seconds=60)


class Texting(World):
    """A direct chat whose person is on SMS."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.chat(
            person(),
            bot(),
            kind="direct",
            visibility="private",
            sms=SmsAddress(line=LINE, phone=PHONE),
        )

    def say(self, text: str = "Hello!") -> DeliveryJob:
        """Let the agent say something; returns the job of its delivery."""
        self.post(text, bot())
        job = self.queues.ready("deliveries")[-1]
        assert isinstance(job, DeliveryJob)
        return job

    def deliver(self, job: DeliveryJob) -> Delivery:
        self.app.deliveries.deliver(job, deadline=self.clock.now() + TIME_OUT)
        return self.delivery(job)

    def delivery(self, job: DeliveryJob) -> Delivery:
        item = self.table.get(Delivery.key_of(TENANT, job.chat_id, job.delivery_id))
        assert item is not None
        return Delivery.from_item(item)

    def due_at(self, job: DeliveryJob) -> str | None:
        item = self.table.get(Delivery.key_of(TENANT, job.chat_id, job.delivery_id))
        assert item is not None
        return item["gsi2sk"].split("#")[0] if "gsi2sk" in item else None

    def report(
        self,
        job: DeliveryJob,
        status: SmsStatus,
        *,
        sid: str = "",
        part: int = 0,
        code: int | None = None,
    ) -> None:
        """Let Twilio's callback for the newest text arrive."""
        self.app.deliveries.report(
            StatusReport(
                tenant=TENANT,
                chat_id=job.chat_id,
                delivery_id=job.delivery_id,
                part=part,
                sid=sid or self.sms.taken[-1][1].sid,
                status=status,
                error_code=code,
            )
        )

    def later(self, job: DeliveryJob, **wait: float) -> Delivery:
        """Turn the clock and let the tick do the rest."""
        self.clock.advance(timedelta(**wait).total_seconds())
        self.tick()
        self.run_ready()
        return self.delivery(job)


def parts(delivery: Delivery) -> list[tuple[str, int]]:
    return [(part.status, part.tries) for part in delivery.parts]


def after(seconds: float) -> str:
    return rfc3339(NOON + timedelta(seconds=seconds))


# ---------------------------------------------------------------------- the straight way


def test_a_text_is_handed_over_once_and_settles() -> None:
    world = Texting()
    job = world.say("Hello!")

    delivery = world.deliver(job)

    [(sms, sent)] = world.sms.taken
    assert (sms.line, sms.phone, sms.body) == (LINE, PHONE, "Hello!")
    assert (delivery.status, delivery.parts[0].sid) == ("sent", sent.sid)
    assert delivery.ended_at == NOON
    assert delivery.lease_until is None
    assert world.due_at(job) is None
    assert world.metrics.counts["SegmentsSent"] == 1


def test_the_callback_names_delivery_and_part() -> None:
    world = Texting()
    job = world.say("One. " * 500)
    world.deliver(job)
    urls = [urlsplit(sms.callback) for sms, _ in world.sms.taken]
    assert [dict(parse_qsl(url.query)) for url in urls] == [
        {"tenant": TENANT, "chat": "chat_1", "delivery": job.delivery_id, "part": str(n)}
        for n in range(2)
    ]
    base = world.settings.public_base_url
    assert all(url.geturl().startswith(f"{base}{STATUS_PATH}?") for url in urls)


def test_a_long_message_goes_in_parts_and_in_order() -> None:
    world = Texting()
    job = world.say("a" * 1_599 + "b" * 1_599 + "c")
    delivery = world.deliver(job)
    assert [body[0] for body in world.sms.bodies] == ["a", "b", "c"]
    assert [part.segments for part in delivery.parts] == [11, 11, 1]
    assert delivery.status == "sent"


def test_the_same_job_twice_sends_one_text() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.deliver(job)
    assert world.sms.asked == 1


def test_two_workers_at_once_send_one_text() -> None:
    world = Texting()
    job = world.say()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: world.deliver(job), range(8)))
    assert world.sms.asked == 1


def test_a_text_costs_two_reads_and_two_writes() -> None:
    world = Texting()
    job = world.say()
    before = len(world.table.log)
    world.app.deliveries.deliver(job, deadline=world.clock.now() + TIME_OUT)
    assert [call.method for call in world.table.log[before:]] == [
        "get",
        "get_many",
        "write",  # claim, parts and intent
        "write",  # outcome
    ]


def test_a_job_that_names_nothing_is_dropped() -> None:
    world = Texting()
    gone = DeliveryJob(tenant=TENANT, chat_id="chat_1", delivery_id="dlv_none")
    world.app.deliveries.deliver(gone, deadline=NOON + TIME_OUT)
    assert world.sms.asked == 0


def test_a_message_that_is_gone_is_not_sent() -> None:
    world = Texting()
    job = world.say()
    world.table.write(Delete(world.messages()[0].key))
    assert world.deliver(job).status == "canceled"
    assert world.due_at(job) is None


# ---------------------------------------------------------------------- order


def test_a_text_waits_for_the_one_before_it() -> None:
    world = Texting()
    first, second = world.say("one"), world.say("two")

    world.deliver(second)
    assert world.sms.bodies == []
    [waiting] = world.queues.waiting("deliveries")
    assert waiting.job == second
    assert waiting.due_at == NOON + timedelta(seconds=2)

    world.deliver(first)
    world.drain()
    assert world.sms.bodies == ["one", "two"]


def test_a_text_waits_30_seconds_and_no_longer() -> None:
    world = Texting()
    _, second = world.say("one"), world.say("two")
    world.deliver(second)
    world.drain()
    assert world.sms.bodies == ["two"]
    assert world.clock.now() == NOON + timedelta(seconds=30)


def test_a_text_that_failed_holds_nobody_up() -> None:
    world = Texting()
    first, second = world.say("one"), world.say("two")
    world.sms.plan(Fault(SmsRejected("no", code=21211)))
    world.deliver(first)
    world.deliver(second)
    assert world.sms.bodies == ["two"]


# ---------------------------------------------------------------------- who wants no texts


def test_nothing_is_sent_after_stop() -> None:
    world = Texting()
    job = world.say()
    world.post("STOP", person(), kind="keyword", opted_out=True)
    delivery = world.deliver(job)
    assert (delivery.status, delivery.error) == ("canceled", "the person has opted out")
    assert world.sms.asked == 0
    assert world.due_at(job) is None


def test_stop_between_two_parts_keeps_the_second_back() -> None:
    world = Texting()
    job = world.say("a" * 1_599 + "b")
    send = world.sms.send

    def stop_arrives(sms: OutgoingSms) -> SentSms:
        world.post("STOP", person(), kind="keyword", opted_out=True)
        return send(sms)

    world.sms.send = stop_arrives  # type: ignore[method-assign]
    delivery = world.deliver(job)
    assert parts(delivery) == [("queued", 1), ("pending", 0)]
    assert delivery.status == "canceled"


def test_the_carriers_opt_out_is_believed_and_not_tried_again() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(SmsRejected("blocked", code=21610)))
    delivery = world.deliver(job)
    assert (delivery.status, delivery.parts[0].error_code) == ("canceled", 21610)
    assert world.membership(person()).sms_opted_out_at == NOON
    assert world.due_at(job) is None
    world.post("still there?", bot())
    assert len(world.deliveries()) == 1


def test_an_opt_out_that_a_callback_tells_counts_too() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.report(job, "failed", code=21610)
    assert world.delivery(job).status == "canceled"
    assert world.membership(person()).sms_opted_out_at == NOON


def test_an_old_opt_out_report_does_not_undo_a_start() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.report(job, "failed", code=21610)
    world.post("START", person(), kind="keyword", opted_out=False)
    world.report(job, "failed", code=21610)
    assert world.membership(person()).sms_opted_out_at is None


def test_who_has_left_the_chat_gets_no_more_texts() -> None:
    world = Texting()
    job = world.say()
    world.table.write(Update(world.membership(person()).key, set={"left_seq": 1}))
    assert world.deliver(job).status == "canceled"


# ---------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    "error",
    [Throttled("slow"), Unavailable("down"), SmsRejected("queue full", code=30001)],
    ids=["throttled", "unavailable", "passing error"],
)
def test_what_may_pass_is_tried_at_0_5_and_35_minutes_and_then_given_up(error: Exception) -> None:
    world = Texting()
    job = world.say()
    assert isinstance(error, Throttled | Unavailable | SmsRejected)
    world.sms.plan(*[Fault(error)] * 3)

    assert parts(world.deliver(job)) == [("failed", 1)]
    assert world.due_at(job) == after(300)
    assert parts(world.later(job, minutes=4)) == [("failed", 1)]
    assert parts(world.later(job, minutes=1)) == [("failed", 2)]
    assert world.due_at(job) == after(300 + 1_800)
    assert world.metrics.counts["DeliveriesFailed"] == 0
    delivery = world.later(job, minutes=30)

    assert parts(delivery) == [("failed", 3)]
    assert delivery.status == "failed"
    assert world.due_at(job) is None
    assert world.metrics.counts["DeliveriesFailed"] == 1
    assert world.sms.asked == 3


def test_a_retry_that_succeeds_settles_the_delivery() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Unavailable("down")))
    world.deliver(job)
    assert world.later(job, minutes=5).status == "sent"
    assert world.sms.bodies == ["Hello!"]


def test_a_phone_that_was_off_is_tried_again_when_a_callback_says_so() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.report(job, "undelivered", code=30003)

    delivery = world.delivery(job)
    assert (delivery.status, delivery.ended_at) == ("sending", None)
    assert world.due_at(job) == after(300)
    delivery = world.later(job, minutes=5)

    assert delivery.status == "sent"
    assert delivery.parts[0].sid == world.sms.taken[1][1].sid
    assert delivery.parts[0].earlier_sids == (world.sms.taken[0][1].sid,)


def test_a_refusal_for_good_fails_at_once_and_keeps_the_rest_back() -> None:
    world = Texting()
    job = world.say("a" * 1_599 + "b")
    world.sms.plan(Fault(SmsRejected("no such number", code=21211)))
    delivery = world.deliver(job)
    assert parts(delivery) == [("failed", 1), ("pending", 0)]
    assert delivery.status == "failed"
    assert world.due_at(job) is None
    assert world.metrics.counts["DeliveriesFailed"] == 1


def test_later_parts_wait_for_one_that_is_tried_again() -> None:
    world = Texting()
    job = world.say("a" * 1_599 + "b")
    world.sms.plan(Fault(Throttled("slow")))
    world.deliver(job)
    assert world.sms.bodies == []
    world.later(job, minutes=5)
    assert [body[0] for body in world.sms.bodies] == ["a", "b"]


# ---------------------------------------------------------------------- unclear posts


def test_an_unclear_post_that_took_effect_is_found_and_not_repeated() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True))

    assert parts(world.deliver(job)) == [("sending", 1)]
    assert world.due_at(job) == after(60)
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
    assert world.clock.now() >= NOON + timedelta(seconds=60)


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


def test_a_post_that_is_unclear_three_times_is_given_up() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(*[Fault(Ambiguous("lost"))] * 3)
    world.deliver(job)
    world.drain()
    assert (world.delivery(job).status, world.sms.asked) == ("failed", 3)
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


def test_of_two_unclear_posts_of_the_same_words_each_gets_its_own() -> None:
    world = Texting(Settings(delivery_order_seconds=0))
    first, second = world.say("ok"), world.say("ok")
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True), Fault(Ambiguous("lost")))
    world.deliver(first)
    world.deliver(second)
    world.clock.advance(61)
    assert parts(world.deliver(second)) == [("sending", 1)]  # the earlier one chooses first
    world.drain()
    world.later(first, minutes=2)
    world.drain()
    sids = [world.delivery(job).parts[0].sid for job in (first, second)]
    assert sids == [sent.sid for _, sent in world.sms.taken]
    assert world.sms.bodies == ["ok", "ok"]


# ---------------------------------------------------------------------- dead and slow workers


class Dead(BaseException):
    """The worker is gone."""


def die(world: Texting, *, after_effect: bool) -> None:
    send = world.sms.send

    def deadly(sms: OutgoingSms) -> SentSms:
        world.sms.send = send  # type: ignore[method-assign]
        if after_effect:
            send(sms)
        raise Dead

    world.sms.send = deadly  # type: ignore[method-assign]


@pytest.mark.parametrize("after_effect", [True, False])
def test_a_worker_that_dies_at_the_post_is_taken_over_and_one_text_goes_out(
    after_effect: bool,
) -> None:
    world = Texting()
    job = world.say()
    die(world, after_effect=after_effect)
    with pytest.raises(Dead):
        world.deliver(job)

    assert world.due_at(job) == after(62)
    assert parts(world.deliver(job)) == [("sending", 1)]  # the lease still holds
    world.later(job, minutes=3)
    world.drain()

    assert world.sms.bodies == ["Hello!"]
    assert world.delivery(job).status == "sent"


def test_a_worker_that_outlived_its_lease_changes_nothing() -> None:
    world = Texting()
    job = world.say("a" * 1_599 + "b")
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


def test_a_worker_without_time_hands_the_rest_on() -> None:
    world = Texting()
    job = world.say("a" * 1_599 + "b")
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


# ---------------------------------------------------------------------- what Twilio says later


@pytest.mark.parametrize(
    "order", [("queued", "sent", "delivered"), ("delivered", "sent", "queued")]
)
def test_statuses_only_move_forward(order: Iterable[SmsStatus]) -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    for status in order:
        world.report(job, status)
        world.report(job, status)
    assert world.delivery(job).status == "delivered"
    assert world.due_at(job) is None


def test_a_delivery_is_delivered_when_all_its_parts_are() -> None:
    world = Texting()
    job = world.say("a" * 1_599 + "b")
    world.deliver(job)
    sids = [sent.sid for _, sent in world.sms.taken]
    world.report(job, "delivered", sid=sids[1], part=1)
    assert world.delivery(job).status == "sent"
    world.report(job, "delivered", sid=sids[0], part=0)
    assert world.delivery(job).status == "delivered"


def test_callbacks_that_come_at_once_are_all_recorded() -> None:
    world = Texting()
    job = world.say("a" * 1_599 * 5)
    world.deliver(job)
    sids = [sent.sid for _, sent in world.sms.taken]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda n: world.report(job, "delivered", sid=sids[n], part=n), range(5)))
    assert world.delivery(job).status == "delivered"


def test_a_report_of_what_does_not_exist_is_not_found() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    with pytest.raises(NotFound):
        world.report(job, "sent", part=1)
    with pytest.raises(NotFound):
        world.report(job.model_copy(update={"delivery_id": "dlv_none"}), "sent")


def test_a_failure_is_counted_once() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.report(job, "failed", code=30006)
    world.report(job, "failed", code=30006)
    assert world.delivery(job).status == "failed"
    assert world.metrics.counts["DeliveriesFailed"] == 1
