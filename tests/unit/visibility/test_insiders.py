"""Whether an activation holds words of outsiders: people of no chat for which its run works."""

from typing import Any

import pytest

from skein.models.common.base import MemberRef
from skein.models.runs.run import HeldContent
from skein.models.runs.trigger import PlanTrigger, ServiceTrigger, Trigger
from skein.models.visibility.audience import OPEN
from skein.models.visibility.provenance import Authors, Insiders, digest_of
from skein.services.visibility.insiders import insiders_of
from tests.support.agents import (
    AHMAD,
    COACH,
    HUSAM,
    asked_by_service,
    settle,
    stage,
    the_run,
    waiting_elsewhere,
)
from tests.support.builders import NOON, TENANT, World
from tests.support.fakes import calls

LOOK = ("read_messages", {"chat_id": "chat_2"})
REMEMBER = ("save_memory", {"text": "It is green", "kind": "core"})


def held(world: World, chat_id: str = "chat_1") -> HeldContent:
    shown = the_run(world, chat_id=chat_id).held
    assert shown is not None
    return shown


def two_chats(*script: Any) -> World:
    world = stage(*script)
    world.chat(HUSAM, COACH, respond="mention")
    world.chat(AHMAD, COACH, chat_id="chat_2", respond="mention")
    return world


def test_words_of_members_and_agents_are_those_of_insiders() -> None:
    world = stage(calls("end_run"))
    world.chat(HUSAM, AHMAD, COACH, respond="mention")
    world.post("It shall be blue", AHMAD)
    world.post("@Coach paint it", HUSAM)
    settle(world)
    assert held(world).authors == Authors.in_digests([HUSAM.id, AHMAD.id])
    assert not held(world).outsiders


def test_item_of_another_chat_in_the_prompt_holds_words_of_an_outsider() -> None:
    world = two_chats(calls(REMEMBER), calls("end_run"))
    world.post("@Coach it is green", AHMAD, chat_id="chat_2")
    settle(world)
    assert not held(world, "chat_2").outsiders
    world.post("@Coach what is it?", HUSAM)
    settle(world)
    assert held(world).outsiders


def test_tool_that_shows_another_chat_adds_words_of_an_outsider() -> None:
    world = two_chats(calls(LOOK), calls("end_run"))
    world.post("It is green", AHMAD, chat_id="chat_2")
    world.post("@Coach look there", HUSAM)
    settle(world)
    assert held(world).outsiders


def test_members_of_the_chat_of_a_wait_are_insiders() -> None:
    world = waiting_elsewhere(calls("end_run"))
    world.post("They are blue", AHMAD, chat_id="chat_2")
    settle(world)
    assert held(world).authors == Authors.in_digests([HUSAM.id, AHMAD.id])
    assert not held(world).outsiders


def test_people_of_each_chat_in_which_the_run_has_waited_are_insiders() -> None:
    asks_again = calls(("send_message", {"text": "Sure?", "chat_id": "chat_1", "wait": True}))
    world = waiting_elsewhere(asks_again, calls("end_run"))
    world.post("They are blue", AHMAD, chat_id="chat_2")
    settle(world)
    world.post("Yes", HUSAM)
    settle(world)
    assert the_run(world).waited_in == ("chat_2", "chat_1")
    assert held(world).authors == Authors.in_digests([HUSAM.id, AHMAD.id])
    assert not held(world).outsiders


def test_person_who_has_left_the_chat_is_an_outsider() -> None:
    world = stage(calls("end_run"))
    world.chat(HUSAM, AHMAD, COACH, respond="mention")
    world.post("It shall be blue", AHMAD)
    world.app.chat_admin.remove_member(TENANT, "chat_1", AHMAD.ref, AHMAD.ref)
    world.post("@Coach paint it", HUSAM)
    settle(world)
    assert held(world).outsiders


@pytest.mark.parametrize(
    "trigger",
    [
        Trigger(
            type="plan",
            plan=PlanTrigger(
                id="plan_1",
                name="Paint",
                instruction="Paint it",
                scheduled_at=NOON,
                chat_id="chat_2",
                authors=Authors.in_digests([AHMAD.id]),
            ),
        ),
        Trigger(
            type="service",
            service=ServiceTrigger(id="svc_1", name="Jira", payload="{}", chat_id="chat_2"),
        ),
    ],
    ids=["plan", "service"],
)
def test_members_of_the_chat_that_a_plan_or_service_names_are_insiders(trigger: Trigger) -> None:
    world = two_chats()
    run = asked_by_service(world, trigger=trigger)
    insiders = insiders_of(run, [world.stored_chat("chat_1"), world.stored_chat("chat_2")])
    assert insiders == Insiders(digests=frozenset({digest_of(AHMAD.id)}))


def test_former_id_of_a_member_is_known_from_any_chat() -> None:
    world = two_chats()
    world.post("@Coach hello", HUSAM)
    chat = world.stored_chat("chat_2").model_copy(update={"formerly": {"usr_old": HUSAM.id}})
    insiders = insiders_of(the_run(world), [world.stored_chat("chat_1"), chat])
    assert insiders.wrote(Authors.in_digests(["usr_old", HUSAM.id]))
    assert not insiders.wrote(Authors.in_digests([AHMAD.id]))


def test_more_authors_than_known_may_be_outsiders() -> None:
    shown = HeldContent(readers=OPEN, audience=OPEN)
    people = [f"usr_{n}" for n in range(21)]
    everyone = Insiders(digests=frozenset(map(digest_of, people)))
    assert not shown.with_shown(OPEN, Authors.in_digests(people[:20]), everyone).outsiders
    assert shown.with_shown(OPEN, Authors.in_digests(people), everyone).outsiders


def test_outsiders_once_held_stay_held() -> None:
    shown = HeldContent(readers=OPEN, audience=OPEN).with_shown(
        OPEN, Authors.in_digests([AHMAD.id]), Insiders()
    )
    nothing = Authors.in_digests([MemberRef(kind="agent", id="agt_b").person_id])
    assert shown.with_shown(OPEN, nothing, Insiders()).outsiders
