"""Chats are put on the desk by a tool, by words, by failures; people are told once."""

from datetime import timedelta
from typing import Any

import pytest

from skein.desk.queue import DeskQueue
from skein.desk.tools import ASKED, BEFORE
from skein.errors import Conflict, ModelRejected, Unprocessable
from skein.models.chats.chat import Message
from skein.models.chats.desk import DeskReason
from skein.models.chats.desk_stay import DeskStay
from skein.models.common.storage import Put, Query
from skein.models.config.desk import DeskSettings
from skein.models.config.overrides import TenantSettings
from skein.models.delivery.sms import InboundSms
from skein.services.chat_state.desk_stays import DeskRequest
from skein.services.chats.desk_requests import DeskRequests
from tests.fakes.outbound_http import json_answer
from tests.support.agents import AHMAD, COACH, HUSAM, results_of, stage
from tests.support.builders import LINE, NOON, PHONE, TENANT, World
from tests.support.fakes import calls
from tests.support.own_tools import LOOK_UP, own_tool
from tests.support.routes import sms_route

SMS = sms_route(line=LINE, phone=PHONE)
DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private", "title": None}
SUMMARY = "He wants his money back"
ASKS = calls(("ask_a_person", {"reason": "A refund", "summary": SUMMARY}))
CLOSED = {"days": ["monday"], "from": "09:00", "to": "17:00", "time_zone": "Europe/Berlin"}
RETURN = "2026-02-23 09:00 (Europe/Berlin)"


def desk_world(*script: Any, chat: dict[str, Any] = DIRECT, **settings: Any) -> World:
    world = stage(*script, reply_mode="text")
    world.known(HUSAM)
    members = (HUSAM, COACH) if chat["kind"] == "direct" else (HUSAM, AHMAD, COACH)
    world.chat(*members, **chat)
    stored = TenantSettings(tenant=TENANT, settings=settings, changed_at=NOON)
    world.table.write(Put(stored.key, stored.to_item()))
    return world


def stays(world: World) -> list[DeskStay]:
    page = world.table.query(Query.under(world.stored_chat().key.pk, DeskStay.PREFIX))
    return [DeskStay.from_item(item) for item in page.items]


def notices(world: World) -> list[Message]:
    return [each for each in world.messages() if each.kind == "notice"]


def reasons(world: World) -> list[DeskReason]:
    world.drain()
    return [stay.reason_code for stay in stays(world)]


def later(world: World, **time: float) -> None:
    world.clock.advance(timedelta(**time).total_seconds())
    world.tick()
    world.drain()


def test_tool_puts_chat_on_the_desk_and_tells_people_once_by_sms() -> None:
    world = desk_world(ASKS, ASKS, chat=DIRECT | {"route": SMS})
    for text in ("Refund me", "Hello?"):
        world.post(text, HUSAM, route=SMS)
        world.drain()
    [stay], desk = stays(world), world.stored_chat().desk
    assert desk is not None
    assert (desk.state, desk.reason_code, desk.agent_id) == ("waiting", "agent", COACH.id)
    assert (stay.reason, stay.summary) == ("A refund", SUMMARY)
    assert stay.made_from.chats == ("chat_1",)
    [notice] = notices(world)
    assert (notice.sender, notice.text) == (COACH, DeskSettings().desk_notice)
    assert [each.seq for each in world.deliveries()] == [notice.seq]
    results = [one for run in world.runs() for one in results_of(world, run)]
    told = [each.content for each in results if each.name == "ask_a_person"]
    assert told == [ASKED, BEFORE]
    assert SUMMARY not in str(world.texts())


def test_run_ends_after_the_desk_notice() -> None:
    world = desk_world(ASKS, "A colleague will help you.")
    world.post("Refund me", HUSAM)
    world.drain()
    assert len(world.model.requests) == 1
    assert [each.text for each in world.messages()][1:] == [DeskSettings().desk_notice]


def test_agent_answers_on_while_the_chat_waits() -> None:
    world = desk_world(ASKS, "Still here.")
    for text in ("Refund me", "Hello?"):
        world.post(text, HUSAM)
        world.drain()
    assert world.texts()[-1] == "Still here."
    prompts = [str(request.messages) for request in world.model.requests]
    shown = [prompt.count("DESK: a person of the team was asked for") for prompt in prompts]
    assert [shown[0], shown[-1]] == [0, 1]


def test_summary_of_a_run_that_was_shown_more_than_the_session_is_not_kept() -> None:
    saved = ("save_memory", {"text": "His knee hurts", "kind": "core"})
    world = desk_world(calls(saved), "Noted.", ASKS)
    for text in ("My knee hurts", "Refund me"):
        world.post(text, HUSAM)
        world.drain()
    [stay] = stays(world)
    assert (stay.reason, stay.summary, stay.made_from.nothing) == (None, None, True)


@pytest.mark.parametrize("chat", [DIRECT, {"kind": "group"}], ids=["direct", "group"])
@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Give me a HUMAN!", True),
        ("a  real\nperson, please", True),
        ("humanity", False),
        ("my inhuman pace", False),
    ],
)
def test_words_of_the_tenant_put_chat_on_the_desk(
    text: str, chat: dict[str, Any], *, asks: bool
) -> None:
    words = {"desk_words": ["human", "real person"]}
    world = desk_world(chat=chat, **words)
    overrides = words if chat["kind"] == "group" else None
    for _ in range(2):
        world.post(text, HUSAM, overrides=overrides)
        assert reasons(world) == ["words"] * asks
    assert len(notices(world)) == asks


def test_word_in_a_first_sms_puts_its_chat_on_the_desk() -> None:
    world = desk_world("Hello!", desk_words=["human"])
    world.line()
    sms = InboundSms(
        account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="A human!"
    )
    world.app.sms_receiver.receive(sms)
    world.drain()
    [entry] = world.app.get(DeskQueue).list(TENANT)
    assert entry.stay.reason_code == "words"
    assert DeskSettings().desk_notice in [text.body for text, _ in world.sms.taken]


def test_desk_word_in_agent_message_does_not_escalate() -> None:
    world = desk_world("I am no human.", desk_words=["human"])
    world.post("Who are you?", HUSAM)
    assert reasons(world) == []


def test_failed_answers_in_a_row_put_chat_on_the_desk() -> None:
    refused = ModelRejected("no")
    world = desk_world(refused, "Fine.", refused, refused, desk_failed_answers=2)
    found = []
    for text in ("One", "Two", "Three", "Four"):
        world.post(text, HUSAM)
        found.append(reasons(world))
    assert found == [[], [], [], ["failed_answers"]]


@pytest.mark.parametrize(
    ("wanted", "given", "status", "asks"),
    [
        (True, {"order": "17"}, 500, True),
        (True, {"order": "17"}, 404, True),
        (True, {"order": "17"}, 200, False),
        (True, {"number": "17"}, 200, False),  # our own check refuses it
        (False, {"order": "17"}, 500, False),
    ],
    ids=["failed", "refused", "done", "wrong", "not wanted"],
)
def test_failing_tool_of_the_tenant_puts_chat_on_the_desk(
    given: dict[str, str], status: int, *, wanted: bool, asks: bool
) -> None:
    world = desk_world(calls(("order_status", given)), "So.", desk_on_tool_failure=wanted)
    world.agent(enabled_tools=("order_status",))
    own_tool(world, LOOK_UP)
    world.service.answer = lambda _: json_answer({}, status)
    world.post("Where is my order?", HUSAM)
    assert reasons(world) == ["tool"] * asks


@pytest.mark.parametrize(("hours", "told"), [({}, None), (CLOSED, RETURN)])
def test_notice_outside_working_hours_names_the_time_of_return(
    hours: dict[str, Any], told: str | None
) -> None:
    own: dict[str, Any] = {"desk_notice": "We come.", "desk_notice_closed": "Back {time}."}
    world = desk_world(ASKS, **own, **({"desk_hours": hours} if hours else {}))
    world.post("Refund me", HUSAM)
    world.drain()
    assert [each.text for each in notices(world)] == [f"Back {told}." if told else "We come."]


def test_lost_desk_job_is_resent_and_posts_one_notice() -> None:
    world = desk_world(desk_words=["human"])
    world.post("human", HUSAM)
    world.queues.take(world.queues.waiting("turns")[0].job.__class__)
    later(world, minutes=2)
    assert len(notices(world)) == 1


def test_chat_that_waits_for_too_long_is_counted_each_hour_until_it_is_taken() -> None:
    world = desk_world(desk_words=["human"], desk_late_minutes=30)
    world.post("human", HUSAM)
    world.drain()
    counts = []
    for minutes in (29, 2, 30, 30):
        later(world, minutes=minutes)
        counts.append(world.metrics.counts["DeskLate"])
    assert counts == [0, 1, 1, 2]
    assert len(notices(world)) == 1


def test_request_with_the_same_cause_begins_one_stay() -> None:
    world = desk_world()
    requests, request = world.app.get(DeskRequests), DeskRequest(reason_code="operator")
    asked = [requests.ask(TENANT, "chat_1", request, cause=cause) for cause in ("1", "1", "2")]
    assert [each.before for each in asked] == [False, False, True]
    assert reasons(world) == ["operator"]


def test_chat_that_is_over_or_has_no_agent_is_not_put_on_the_desk() -> None:
    world, request = desk_world(), DeskRequest(reason_code="operator")
    world.chat(HUSAM, AHMAD, chat_id="chat_2")
    world.chat(HUSAM, COACH, chat_id="chat_3", discarded_at=NOON)
    for chat_id, error in (("chat_2", Unprocessable), ("chat_3", Conflict)):
        with pytest.raises(error):
            world.app.get(DeskRequests).ask(TENANT, chat_id, request, cause="1")


def test_chat_that_is_discarded_leaves_the_desk_without_a_notice() -> None:
    world = desk_world(chat={"kind": "group"})
    world.app.get(DeskRequests).ask(
        TENANT, "chat_1", DeskRequest(reason_code="operator"), cause="1"
    )
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    [stay] = stays(world)
    assert (stay.ended_by, notices(world)) == ("discarded", [])
    later(world, days=30)
    assert world.metrics.counts["DeskLate"] == 0
