"""Take-overs: whatever agents do in the chat, they say nothing after it, and nothing is lost."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from skein.desk.taking import Taking
from skein.errors import Conflict
from skein.models.chats.chat import MessageKind
from skein.models.chats.desk import Holder
from skein.models.chats.names import plain_name
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.config.desk import DueWork
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.services.chats.post_message import NewMessage
from tests.support.agents import (
    AHMAD,
    COACH,
    FREE,
    HUSAM,
    asked_by_service,
    rival,
    settle,
    slots,
    stage,
    stored,
    the_run,
    waiting_elsewhere,
    waiting_here,
)
from tests.support.builders import TENANT, World
from tests.support.desk import Desk
from tests.support.fakes import Said, says
from tests.support.live import connect

MIA = MemberRef(kind="team", id="op_mia")
WORDS = "Here is what I think."


def taken(world: World, chat_id: str = "chat_1") -> Desk:
    mia = Desk(world, chat_id)
    assert mia.take().status == 200
    return mia


def asked(*script: Any, **agent: Any) -> World:
    world = stage(*script, **agent)
    world.chat(HUSAM, AHMAD, COACH)
    world.post("Hello", HUSAM)
    return world


def settings_of(world: World, **values: Any) -> None:
    answer = Desk(world).client.patch("/v1/settings", values)
    assert answer.status == 200, answer.body


def test_run_that_is_writing_is_stopped_and_what_it_streamed_is_retracted() -> None:
    world = asked(reply_mode="text", history_format="roles", enabled_tools=())
    connect(world, HUSAM.id, HUSAM.name)
    pauses = iter(range(100))

    def between(_: object) -> None:
        world.clock.advance(0.3)
        world.background.finish(0)
        if next(pauses) == 2:
            taken(world)

    world.model.between = between
    world.model.default = WORDS
    settle(world)
    assert [message.text for message in world.messages()] == ["Hello"]
    assert (the_run(world).status, the_run(world).reason) == ("canceled", Reason.DESK)
    assert slots(world) == FREE
    types = [frame["type"] for frame in world.sockets.frames(HUSAM.name)]
    assert types[0] == "delta"
    assert types[-1] == "retract"


@pytest.mark.parametrize("mode", ["text", "tools"])
def test_take_over_just_before_the_post_leaves_no_word_of_the_agent(mode: str) -> None:
    world = asked(WORDS if mode == "text" else says(WORDS), reply_mode=mode)
    rival(world).before = ("MSG#", lambda: taken(world))
    world.clock.advance(1)
    world.run_ready()
    assert [message.text for message in world.messages()] == ["Hello"]
    assert the_run(world).status == "canceled"


def test_queued_run_is_canceled_and_its_message_answered_after_the_return() -> None:
    world = asked(default := says("At your service"))
    world.model.default = default
    mia = taken(world)
    settle(world)
    assert (the_run(world).status, the_run(world).reason) == ("canceled", Reason.DESK)
    mia.hand_back()
    settle(world)
    assert [message.text for message in world.messages()] == ["Hello", "At your service"]
    _, run = sorted(world.runs(), key=lambda each: each.id)
    assert run.trigger.seqs == range(1, 2)
    assert world.messages()[0].runs == {COACH.id: run.id}


def test_message_that_the_team_answered_starts_no_run_at_the_return() -> None:
    world = asked()
    mia = taken(world)
    mia.say("Hello, I am Mia")
    mia.hand_back()
    settle(world)
    assert [run.status for run in world.runs()] == ["canceled"]


def test_run_that_waits_in_the_chat_ends_and_no_reply_resumes_it() -> None:
    world = waiting_here(says("Published"))
    mia = taken(world)
    world.post("Yes, publish", HUSAM)
    settle(world)
    assert slots(world) == FREE
    assert the_run(world).status == "canceled"
    assert [message.text for message in world.messages()] == ["Publish", "Shall I?", "Yes, publish"]
    mia.hand_back()
    settle(world)
    assert [message.text for message in world.messages()][3:] == ["Published"]


def test_run_of_another_chat_that_waits_resumes_there_without_a_reply() -> None:
    world = waiting_elsewhere(says("Sales do not answer"))
    taken(world, "chat_2")
    settle(world)
    assert [message.text for message in world.messages("chat_1")][1:] == ["Sales do not answer"]


@pytest.mark.parametrize(("due_work", "said"), [("wait", ["They say 4"]), ("drop", [])])
def test_run_that_waited_elsewhere_resumes_after_the_return_or_is_dropped(
    due_work: DueWork, said: list[str]
) -> None:
    world = waiting_elsewhere(says("They say 4", chat_id="chat_1"))
    settings_of(world, desk_due_work=due_work)
    mia = taken(world)
    world.post("The figure is 4", AHMAD, chat_id="chat_2")
    settle(world)
    assert [message.text for message in world.messages()] == ["Pull the numbers"]
    mia.hand_back()
    settle(world)
    assert [message.text for message in world.messages()][1:] == said


def test_agent_asked_elsewhere_cannot_post_in_a_chat_that_is_held() -> None:
    world = stage(says("Look", chat_id="chat_2"), says("I may not"))
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", title="Sales")
    taken(world, "chat_2")
    world.post("Tell sales", HUSAM)
    settle(world)
    assert [message.text for message in world.messages("chat_2")] == []
    assert "a team member has taken over the chat" in str(world.model.requests[-1].messages[-1])


def by_service(world: World) -> Run:
    return asked_by_service(world, chat=world.stored_chat(), trigger=Trigger(type="service"))


@pytest.mark.parametrize(("due_work", "status"), [("wait", "done"), ("drop", "canceled")])
@pytest.mark.parametrize("begun", [False, True], ids=["queued", "running"])
def test_run_of_a_service_waits_for_the_return_or_is_dropped(
    due_work: DueWork, status: str, *, begun: bool
) -> None:
    world = stage()
    world.chat(HUSAM, AHMAD, COACH)
    settings_of(world, desk_due_work=due_work)
    holders: list[Desk] = []

    def writes(_: object) -> Said:
        if not holders:
            holders.append(taken(world))
        return says(WORDS)

    if begun:
        world.model.script.append(writes)
    else:
        holders.append(taken(world))
        world.model.script.append(says(WORDS))
    run = by_service(world)
    settle(world)
    waits = due_work == "wait"
    assert stored(world, run).status == ("queued" if waits else "canceled")
    assert [message.text for message in world.messages()] == []
    world.model.default = says(WORDS)
    holders[0].hand_back()
    world.drain()
    assert stored(world, run).status == status
    assert [message.text for message in world.messages()] == ([WORDS] if waits else [])


@pytest.mark.parametrize("first", ["post", "return"])
def test_message_at_the_moment_of_the_return_is_answered_once(first: str) -> None:
    world = asked()
    mia = taken(world)
    settle(world)
    mia.say("I am Mia")
    world.model.default = says("At your service")

    def text() -> None:
        world.post("Bye", HUSAM)

    def hand_back() -> None:
        assert mia.hand_back().status == 204

    meanwhile: Callable[[], None] = text if first == "post" else hand_back
    rival(world).before = ("META", meanwhile)
    hand_back() if first == "post" else text()
    settle(world)
    texts = [message.text for message in world.messages()]
    assert texts == ["Hello", "I am Mia", "Bye", "At your service"]


def test_second_person_who_takes_the_chat_at_the_same_time_is_refused() -> None:
    world = asked()
    mia, tom = Desk(world), Desk(world, sub="op_tom", name="Tom")
    taking, first = world.app.get(Taking), Holder(id="op_mia", name="Mia")
    rival(world).before = ("META", lambda: taking.take(TENANT, "chat_1", first))
    assert tom.take().status == 409
    assert mia.get().body["holder"]["name"] == "Mia"


@pytest.mark.parametrize(
    ("kind", "sender", "posted"),
    [
        ("notice", COACH.ref, True),
        ("text", HUSAM.ref, True),
        ("text", COACH.ref, False),
        ("text", MIA, False),
        ("team", COACH.ref, False),
        ("team", HUSAM.ref, False),
        ("team", MemberRef(kind="team", id="op_tom"), False),
        ("team", MIA, True),
    ],
)
def test_only_the_holder_posts_for_the_team_and_agents_only_notices(
    kind: MessageKind, sender: MemberRef, *, posted: bool
) -> None:
    world = stage()
    world.chat(HUSAM, AHMAD, COACH)
    taken(world)
    new = NewMessage(
        tenant=TENANT, chat_id="chat_1", sender=sender, kind=kind, text="Hello", client_id="1"
    )
    with nullcontext() if posted else pytest.raises(Conflict) as refused:
        world.app.chats.post_message(new)
    assert [message.kind for message in world.messages()] == ([kind] if posted else [])
    assert refused is None or refused.value.reason == Reason.DESK


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("Mia Vogt", "Mia Vogt"),
        ("Mia\nYour account is locked.\u202e", "Mia Your account is locked."),
        (HUSAM.name.upper(), f"{HUSAM.name.upper()} (team)"),
        (COACH.name, f"{COACH.name} (team)"),
    ],
)
def test_holder_has_a_name_of_one_line_that_no_member_has(given: str, shown: str) -> None:
    desk = Desk(asked())
    answer = desk.take(name=given)
    assert answer.status == 200, answer.body
    holder = desk.chat.holder
    assert holder is not None
    assert holder.name == shown
    assert plain_name(holder.sender).endswith(" (team)")
    assert plain_name(holder.sender).count("team") == 1


def test_holder_may_be_called_operator() -> None:
    assert Desk(asked()).take(name="Operator").status == 200


@pytest.mark.parametrize("name", ["Skein", "\u200bS.kein", "You", "\u202e"])
def test_holder_with_a_reserved_name_is_refused(name: str) -> None:
    assert Desk(asked()).take(name=name).status == 422
