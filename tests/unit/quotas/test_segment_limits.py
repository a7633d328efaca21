"""Limits of SMS segments, and the pace of a line with its queue."""

from datetime import timedelta
from typing import Any

import pytest

from skein.models.common.address import route_on
from skein.models.common.reason import Reason
from skein.models.common.storage import Put
from skein.models.delivery.delivery import Delivery
from skein.models.directory.user import User
from skein.settings import Settings
from tests.support.builders import LINE, NOON, PHONE, TENANT, bot, person
from tests.support.routes import sms_route
from tests.support.sms import Texting, after

TEN = "Go on. " * 200  # ten segments


def texting(**settings: Any) -> Texting:
    return Texting(settings=Settings(sms_answer_segments=100, **settings))


def charged(world: Texting) -> Delivery:
    return world.deliver(world.say(TEN))


def segments(delivery: Delivery) -> int:
    return sum(part.segments for part in delivery.parts)


@pytest.mark.parametrize("limit", ["user_segments_per_day", "line_segments_per_day"])
def test_text_over_a_limit_of_the_day_is_refused_with_a_reason(limit: str) -> None:
    world = texting(**{limit: 15})
    first = charged(world)
    assert (segments(first), first.status) == (10, "sent")
    second = charged(world)
    assert (second.status, second.reason) == ("canceled", Reason.SEGMENT_LIMIT)
    assert world.messages()[1].lost == "all"
    assert world.sms.asked == 1
    world.clock.advance(86_400)
    assert charged(world).status == "sent"


def test_limit_of_an_unknown_number_holds_on_its_first_day_only() -> None:
    world = texting(new_number_segments_per_day=15)
    caller = User(tenant=TENANT, id=person().id, name="Caller", caller=True, created_at=NOON)
    world.table.write(Put(caller.key, caller.to_item()))
    assert [charged(world).status for _ in range(2)] == ["sent", "canceled"]
    world.clock.advance(86_400)
    assert [charged(world).status for _ in range(2)] == ["sent", "sent"]


def test_limit_nearly_used_up_is_counted_once() -> None:
    world = texting(user_segments_per_day=40, line_segments_per_day=0)
    counted = []
    for _ in range(4):
        charged(world)
        counted.append(world.metrics.counts.get("SegmentLimitsNear", 0))
    assert counted == [0, 0, 0, 1]


def test_segment_limits_of_zero_are_unlimited() -> None:
    world = texting(
        user_segments_per_day=0, line_segments_per_day=0, long_code_segments_per_minute=0
    )
    assert [charged(world).status for _ in range(20)] == ["sent"] * 20


def test_delivery_behind_a_full_line_waits_for_its_turn_by_its_due_pointer() -> None:
    world = texting(long_code_segments_per_minute=10)
    charged(world)
    charged(world)
    job = world.say(TEN)
    waiting = world.deliver(job)
    assert (waiting.send_at, waiting.reason) == (NOON + timedelta(seconds=120), Reason.LINE_BUSY)
    assert world.due_at(job) == after(120)
    assert world.sms.asked == 1
    assert world.later(job, minutes=3).status == "sent"
    assert world.sms.asked == 3


def test_waiting_delivery_is_charged_once() -> None:
    world = texting(long_code_segments_per_minute=10, user_segments_per_day=20)
    charged(world)
    job = world.say(TEN)
    for _ in range(3):
        world.deliver(job)
    assert world.later(job, minutes=2).status == "sent"


def test_toll_free_line_has_its_own_pace() -> None:
    world = Texting(settings=Settings(sms_answer_segments=100))
    line = "+18005550006"
    world.chat(
        person(),
        bot(),
        chat_id="chat_2",
        kind="direct",
        visibility="private",
        route=sms_route(line=line, phone=PHONE),
    )
    for _ in range(10):
        world.post(TEN, bot(), chat_id="chat_2")
    world.drain()
    sends = [each.send_at for each in world.deliveries("chat_2")]
    assert max(at for at in sends if at is not None) - NOON < timedelta(minutes=1)


def test_many_answers_are_sent_at_the_pace_of_the_line() -> None:
    world = texting(user_segments_per_day=0)
    jobs = [world.say(TEN) for _ in range(30)]
    for job in jobs:
        world.deliver(job)
    turns = [world.delivery(job).send_at for job in jobs]
    assert turns[-1] is not None
    assert turns[-1] >= NOON + timedelta(seconds=240)
    last = world.later(jobs[-1], minutes=8)
    assert last.status == "sent"
    assert [each.status for each in world.deliveries()] == ["sent"] * 30


def test_person_in_a_long_queue_gets_one_notice() -> None:
    world = texting(long_code_segments_per_minute=10)
    for _ in range(9):
        job = world.say(TEN)
        world.deliver(job)
    told = [body for body in world.sms.bodies if body.startswith("Many people are writing.")]
    assert told == ["Many people are writing. Your answer will come in about 7 minutes."]
    world.later(job, minutes=20)
    bodies = world.sms.bodies
    assert len([body for body in bodies if body.startswith("Many")]) == 1
    assert len(bodies) == 10
    assert {each.status for each in world.deliveries()} == {"sent"}


def test_each_channel_has_limits_of_its_own() -> None:
    world = Texting(settings=Settings(user_segments_per_day=1, line_segments_per_day=1))
    husam = person().ref
    for channel in ("sms", "whatsapp", "sms", "whatsapp"):
        world.post("Hi", husam, route=route_on(channel, line=LINE, person=PHONE))
        world.deliver(world.say("Hello!"))
    assert [sms.channel for sms, _ in world.sms.taken] == ["sms", "whatsapp"]
    assert {each.reason for each in world.deliveries()} == {None, Reason.SEGMENT_LIMIT}
