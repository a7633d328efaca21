"""What `make load` holds the table to: a good one passes, and each thing that is wrong fails."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from bench.load.checks import CHECKS, verdicts
from bench.load.found import Acknowledged, StoredState
from local.twilio.sms_log import Sms
from skein.models.chats.chat import Media, chat_partition
from skein.models.common.storage import Item, Query
from skein.models.delivery.sms import InboundSms
from tests.support.builders import LINE, PHONE, TENANT, World
from tests.support.pictures import picture

PICTURE_URL = "https://api.twilio.com/2010-04-01/Accounts/AC1/Messages/MM1/Media/ME1"
QUIET_MINUTES = 18  # after which a short conversation has been summed up

Change = Callable[[list[Item], StoredState], None]


@cache
def a_good_table() -> tuple[list[Item], StoredState]:
    """A person has texted twice in a burst, and then a picture, and has had two answers."""
    world = World()
    world.sms.media_files = {PICTURE_URL: picture()}
    world.agent()
    world.line()
    chat_id, acknowledged = "", []
    for sid, body in (("SM-1", "one"), ("SM-2", "two"), ("SM-3", "three")):
        if sid == "SM-3":
            world.drain()
        files = (Media(url=PICTURE_URL, content_type="image/jpeg"),) if sid == "SM-3" else ()
        posted = world.app.sms_receiver.receive(
            InboundSms(
                account_sid="AC1",
                message_sid=sid,
                sender=PHONE,
                recipient=LINE,
                body=body,
                media=files,
            )
        )
        assert posted is not None
        chat_id = posted.message.chat_id
        message = posted.message
        acknowledged.append(Acknowledged(sid, body, message.seq, message.id, len(files)))
    world.drain()
    for _ in range(QUIET_MINUTES // 3):
        world.clock.advance(180)
        world.tick()
        world.drain()
    items = list(world.table.query(Query(chat_partition(TENANT, chat_id))).items)
    found = StoredState(acknowledged=acknowledged, dead_letters={"DeadLetters": 0})
    found.sms = [
        Sms(sent.sid, LINE, PHONE, text.body, "delivered", "", 1, "")
        for text, sent in world.sms.taken
    ]
    found.stored = list(world.files.contents)
    return items, found


def of(items: list[Item], start: str, *, nth: int = 0) -> Item:
    """The item whose sort key begins so."""
    return [i for i in items if i["sk"].startswith(start) and "#STEP#" not in i["sk"]][nth]


def put(items: list[Item], original: Item, **changes: Any) -> None:
    """One item more, like another one."""
    items.append({**original, **changes})


def wrong(change: Change) -> set[str]:
    items, found = deepcopy(a_good_table())
    change(items, found)
    found.take(items)
    return {verdict.check for verdict in verdicts(found) if not verdict.holds}


def test_a_good_table_passes() -> None:
    assert wrong(lambda *_: None) == set()


def double_a_message(items: list[Item], _: StoredState) -> None:
    last = of(items, "META")
    put(items, of(items, "MSG#"), sk="MSG#000000000006", seq=6)
    last["last_seq"] = 6


def lose_a_message(items: list[Item], _: StoredState) -> None:
    items.remove(of(items, "MSG#", nth=1))


def leave_a_gap(items: list[Item], _: StoredState) -> None:
    of(items, "META")["last_seq"] = 6


def say_another_number(_: list[Item], found: StoredState) -> None:
    found.acknowledged = [Acknowledged("SM-1", "one", seq=2)]


def change_the_words(_: list[Item], found: StoredState) -> None:
    found.acknowledged = [Acknowledged("SM-1", "other words")]


def forget_a_record(items: list[Item], _: StoredState) -> None:
    items.remove(of(items, "DEDUPE#"))


def leave_a_run_at_work(items: list[Item], _: StoredState) -> None:
    of(items, "RUN#")["status"] = "running"


def lose_a_step(items: list[Item], _: StoredState) -> None:
    items.remove(next(item for item in items if "#STEP#" in item["sk"]))


def book_twice(_: list[Item], found: StoredState) -> None:
    found.bookings = {("run_1", "p000-1-1"): 2}


def book_unknown(_: list[Item], found: StoredState) -> None:
    found.booked_keys = ["run_1:1:0"]


def lose_a_booking(items: list[Item], _: StoredState) -> None:
    step = next(item for item in items if "#STEP#" in item["sk"])
    result = {"call_id": "c", "name": "book_table", "status": "done", "content": "Booked."}
    step["results"] = [result]


def fail_a_run(items: list[Item], _: StoredState) -> None:
    of(items, "RUN#")["status"] = "failed"


def answer_twice(items: list[Item], _: StoredState) -> None:
    answer = next(item for item in items if item.get("run_id") and item["sk"].startswith("MSG#"))
    put(items, answer, sk="MSG#000000000006", seq=6, client_id="again")
    of(items, "META")["last_seq"] = 6


def answer_nothing(items: list[Item], _: StoredState) -> None:
    answer = next(item for item in items if item.get("run_id") and item["sk"].startswith("MSG#"))
    del answer["run_id"]


def cover_a_message_twice(items: list[Item], _: StoredState) -> None:
    of(items, "RUN#", nth=1)["trigger"]["from_seq"] = 2


def cover_a_message_never(items: list[Item], _: StoredState) -> None:
    of(items, "RUN#")["trigger"]["from_seq"] = 2


def answer_unseen(items: list[Item], _: StoredState) -> None:
    of(items, "RUN#")["shown"]["seq"] = 1


def sms_twice(_: list[Item], found: StoredState) -> None:
    found.sms = [*found.sms, found.sms[0]]


def sms_never(_: list[Item], found: StoredState) -> None:
    found.sms = found.sms[1:]


def lose_a_delivery(items: list[Item], _: StoredState) -> None:
    items.remove(of(items, "DELIVERY#"))


def fail_a_delivery(items: list[Item], _: StoredState) -> None:
    of(items, "DELIVERY#")["status"] = "failed"


def lose_a_picture(_: list[Item], found: StoredState) -> None:
    found.stored = []


def leave_a_picture(_: list[Item], found: StoredState) -> None:
    found.stored = [*found.stored, "incoming/acme/chat_1/med_1"]


def forget_a_picture(items: list[Item], _: StoredState) -> None:
    items.remove(of(items, "FILE#"))


def leave_a_picture_pending(items: list[Item], _: StoredState) -> None:
    of(items, "FILE#")["state"] = "pending"


def lose_a_description(items: list[Item], _: StoredState) -> None:
    del of(items, "FILE#")["description"]


def hold_a_slot(items: list[Item], _: StoredState) -> None:
    of(items, "MEMBER#agent#")["running_run"] = of(items, "RUN#")["id"]


def leave_something_due(items: list[Item], _: StoredState) -> None:
    of(items, "RUN#")["gsi2pk"] = "DUE#run#3"


def leave_a_dead_letter(_: list[Item], found: StoredState) -> None:
    found.dead_letters = {"DeadLetters": 1}


def leave_something_queued(_: list[Item], found: StoredState) -> None:
    found.held = 1


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (double_a_message, "every acknowledged message is stored exactly once"),
        (double_a_message, "no message is stored twice"),
        (lose_a_message, "every acknowledged message is stored exactly once"),
        (lose_a_message, "`seq` is dense in every chat"),
        (leave_a_gap, "`seq` is dense in every chat"),
        (say_another_number, "every acknowledged message is stored exactly once"),
        (change_the_words, "every acknowledged message is stored exactly once"),
        (forget_a_record, "no message is stored twice"),
        (leave_a_run_at_work, "every run has ended"),
        (lose_a_step, "every run has ended"),
        (fail_a_run, "no run has failed"),
        (answer_twice, "every completed run has posted one answer"),
        (answer_nothing, "every completed run has posted one answer"),
        (cover_a_message_twice, "every message was answered by exactly one run"),
        (cover_a_message_never, "every message was answered by exactly one run"),
        (answer_unseen, "every message was answered by exactly one run"),
        (book_twice, "every booking of a tool was made once"),
        (book_unknown, "every booking of a tool was made once"),
        (lose_a_booking, "every booking of a tool was made once"),
        (sms_twice, "every SMS has reached its phone once"),
        (sms_never, "every SMS has reached its phone once"),
        (lose_a_delivery, "every SMS has reached its phone once"),
        (fail_a_delivery, "every SMS has reached its phone once"),
        (lose_a_picture, "every picture is stored once"),
        (leave_a_picture, "every picture is stored once"),
        (forget_a_picture, "every picture is stored once"),
        (leave_a_picture_pending, "every picture is stored once"),
        (lose_a_description, "every picture is stored once"),
        (hold_a_slot, "all slots are empty"),
        (leave_something_due, "no completed work is still due"),
        (leave_a_dead_letter, "queues and dead letters are empty"),
        (leave_something_queued, "queues and dead letters are empty"),
    ],
)
def test_check_finds_an_injected_error(change: Change, check: str) -> None:
    assert check in CHECKS
    assert check in wrong(change)
