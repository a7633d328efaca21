"""Texts on their way out: in order, to those who want them, and what Twilio says later."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest

from skein.channels.segments import MAX_PART_UNITS
from skein.errors import NotFound, SmsRejected
from skein.models.api.directory import NewUser, UserChange
from skein.models.common.address import phone_address
from skein.models.common.storage import Delete, Put, Update
from skein.models.delivery.delivery import Delivery
from skein.models.delivery.sms import OutgoingSms, SentSms, SmsStatus
from skein.models.directory.user import User
from skein.models.outbox.jobs import DeliveryJob
from skein.services.delivery.policy import ORDER_CHECK_SECONDS, ORDER_WAIT
from tests.fakes.sms import Fault
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.number_codes import link_number
from tests.support.sms import ROUTE, TIME_OUT, Texting, parts

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
    urls = [urlsplit(str(sms.callback)) for sms, _ in world.sms.taken]
    assert [dict(parse_qsl(url.query)) for url in urls] == [
        {"tenant": TENANT, "chat": "chat_1", "delivery": job.delivery_id, "part": str(n)}
        for n in range(2)
    ]
    base = world.settings.public_base_url
    assert all(url.geturl().startswith(f"{base}/webhooks/twilio/status?") for url in urls)


def test_a_long_message_goes_in_parts_and_in_order() -> None:
    world = Texting()
    job = world.say("a" * MAX_PART_UNITS + "b" * MAX_PART_UNITS + "c")
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


def test_delivery_job_during_another_workers_send_is_ignored() -> None:
    world = Texting()
    job = world.say()
    send = world.sms.send

    def meanwhile(sms: OutgoingSms) -> SentSms:
        held = world.deliver(job)
        assert (held.fence, held.parts[0].status) == (1, "sending")
        return send(sms)

    world.sms.send = meanwhile  # type: ignore[method-assign]
    delivery = world.deliver(job)
    assert (delivery.fence, delivery.status, world.sms.asked) == (1, "sent", 1)


def test_a_text_costs_two_reads_a_charge_two_writes_and_a_count() -> None:
    world = Texting()
    job = world.say()
    before = len(world.table.log)
    world.app.deliveries.deliver(job, deadline=world.clock.now() + TIME_OUT)
    assert [call.method for call in world.table.log[before:]] == [
        "get",
        "get_many",
        "transact",  # charge of the person and the line
        "write",  # claim, parts and intent
        "write",  # outcome
        "transact",  # usage
    ]


def test_delivery_job_for_unknown_delivery_is_dropped() -> None:
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
    assert waiting.due_at == NOON + timedelta(seconds=ORDER_CHECK_SECONDS)

    world.deliver(first)
    world.drain()
    assert world.sms.bodies == ["one", "two"]


def test_a_text_waits_for_the_one_before_it_and_then_no_longer() -> None:
    world = Texting()
    _, second = world.say("one"), world.say("two")
    world.deliver(second)
    world.drain()
    assert world.sms.bodies == ["two"]
    assert world.clock.now() == NOON + ORDER_WAIT


def test_failed_sms_does_not_block_later_ones() -> None:
    world = Texting()
    first, second = world.say("one"), world.say("two")
    world.sms.plan(Fault(SmsRejected("no", code=21211)))
    world.deliver(first)
    world.deliver(second)
    assert world.sms.bodies == ["two"]


# ---------------------------------------------------------------------- who wants no texts


def test_delivery_after_stop_is_canceled() -> None:
    world = Texting()
    job = world.say()
    world.post("STOP", person(), kind="keyword", route=ROUTE, opted_out=True)
    delivery = world.deliver(job)
    assert (delivery.status, delivery.error) == ("canceled", "the person has opted out")
    assert world.sms.asked == 0
    assert world.due_at(job) is None


def test_stop_between_two_parts_keeps_the_second_back() -> None:
    world = Texting()
    job = world.say("a" * MAX_PART_UNITS + "b")
    send = world.sms.send

    def stop_arrives(sms: OutgoingSms) -> SentSms:
        world.post("STOP", person(), kind="keyword", route=ROUTE, opted_out=True)
        return send(sms)

    world.sms.send = stop_arrives  # type: ignore[method-assign]
    delivery = world.deliver(job)
    assert parts(delivery) == [("queued", 1), ("pending", 0)]
    assert delivery.status == "canceled"


def unlinked(world: World) -> None:
    world.app.phone_links.unlink(TENANT, person().id, PHONE)


def patched(world: World) -> None:
    world.app.users.change(TENANT, person().id, UserChange(phones=()))


def erased(world: World) -> None:
    world.app.erasures.request(TENANT, person().id, by="usr_op")


def given_to_another(world: World) -> None:
    unlinked(world)
    world.app.users.create(TENANT, NewUser(name="Ahmad", phones=(PHONE,)))


def between_two_parts(world: Texting, happens: Callable[[World], None]) -> Delivery:
    """Deliver three parts to a person on record; something happens during the first post."""
    own = (phone_address(PHONE),)
    user = User(tenant=TENANT, id=person().id, name="Husam", addresses=own, created_at=NOON)
    world.table.write(Put(user.key, user.to_item()))
    job = world.say("a" * MAX_PART_UNITS + "b" * MAX_PART_UNITS + "c")
    send, first = world.sms.send, iter([True])

    def meanwhile(sms: OutgoingSms) -> SentSms:
        if next(first, False):
            happens(world)
        return send(sms)

    world.sms.send = meanwhile  # type: ignore[method-assign]
    return world.deliver(job)


@pytest.mark.parametrize("happens", [unlinked, patched, erased, given_to_another])
def test_deliver_parts_after_number_was_taken_away_sends_no_further_part(
    happens: Callable[[World], None],
) -> None:
    world = Texting()
    delivery = between_two_parts(world, happens)
    assert [body[0] for body in world.sms.bodies] == ["a"]
    assert parts(delivery) == [("queued", 1), ("pending", 0), ("pending", 0)]
    assert (delivery.status, delivery.error) == (
        "canceled",
        "the phone number no longer belongs to the person",
    )
    assert world.due_at(world.job_of(delivery)) is None


def test_deliver_parts_while_caller_is_linked_to_person_sends_the_rest_once() -> None:
    world = Texting()
    ann = world.app.users.create(TENANT, NewUser(name="Ann"))

    def linked(_: World) -> None:
        key = User.key_of(TENANT, person().id)
        world.table.write(Update(key, set={"caller": True}))
        link_number(world, ann.id, PHONE)

    delivery = between_two_parts(world, linked)
    world.drain()
    assert [body[0] for body in world.sms.bodies] == ["a", "b", "c"]
    delivery = world.delivery(world.job_of(delivery))
    assert (delivery.user_id, delivery.status) == (ann.id, "sent")


def test_the_carriers_opt_out_is_believed_and_not_tried_again() -> None:
    world = Texting()
    job = world.say()
    world.sms.plan(Fault(SmsRejected("blocked", code=21610)))
    delivery = world.deliver(job)
    assert (delivery.status, delivery.parts[0].error_code) == ("canceled", 21610)
    assert world.membership(person()).opt_outs == {"sms": NOON}
    assert world.due_at(job) is None
    world.post("still there?", bot())
    assert len(world.deliveries()) == 1


def test_opt_out_in_a_status_callback_is_recorded() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.report(job, "failed", code=21610)
    assert world.delivery(job).status == "canceled"
    assert world.membership(person()).opt_outs == {"sms": NOON}


def test_an_old_opt_out_report_does_not_undo_a_start() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    world.report(job, "failed", code=21610)
    world.post("START", person(), kind="keyword", route=ROUTE, opted_out=False)
    world.report(job, "failed", code=21610)
    assert world.membership(person()).opt_outs == {}


def test_person_who_left_the_chat_gets_no_sms() -> None:
    world = Texting()
    job = world.say()
    world.close_membership(person())
    assert world.deliver(job).status == "canceled"


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
    job = world.say("a" * MAX_PART_UNITS + "b")
    world.deliver(job)
    sids = [sent.sid for _, sent in world.sms.taken]
    world.report(job, "delivered", sid=sids[1], part=1)
    assert world.delivery(job).status == "sent"
    world.report(job, "delivered", sid=sids[0], part=0)
    assert world.delivery(job).status == "delivered"


def test_callbacks_that_come_at_once_are_all_recorded() -> None:
    world = Texting()
    job = world.say("a" * MAX_PART_UNITS * 5)
    world.deliver(job)
    sids = [sent.sid for _, sent in world.sms.taken]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda n: world.report(job, "delivered", sid=sids[n], part=n), range(5)))
    assert world.delivery(job).status == "delivered"


def test_status_report_of_unknown_delivery_is_not_found() -> None:
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


def test_handover_is_recorded_once_when_twilio_has_all_parts() -> None:
    world = Texting()
    job = world.say()
    world.clock.advance(12)
    world.deliver(job)
    world.report(job, "sent")
    world.report(job, "delivered")
    assert 12 <= world.metrics.counts["HandoverSeconds"] < 13
    assert world.metrics.units["HandoverSeconds"] == "Seconds"


def test_arrival_is_recorded_once_when_the_carrier_has_delivered_all_parts() -> None:
    world = Texting()
    job = world.say("One. " * 500)
    world.deliver(job)
    first, second = (sent.sid for _, sent in world.sms.taken)
    world.clock.advance(20)
    world.report(job, "delivered", sid=first)
    assert "ArrivalSeconds" not in world.metrics.counts
    world.clock.advance(20)
    for _ in range(2):
        world.report(job, "delivered", sid=second, part=1)
    assert 40 <= world.metrics.counts["ArrivalSeconds"] < 41


def test_retry_after_a_failure_of_the_carrier_is_no_handover() -> None:
    world = Texting()
    job = world.say()
    world.clock.advance(12)
    world.deliver(job)
    world.report(job, "undelivered", code=30003)
    world.later(job, minutes=10)
    assert world.sms.asked == 2
    assert world.metrics.counts["HandoverSeconds"] < 13
