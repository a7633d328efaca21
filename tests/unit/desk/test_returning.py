"""Returns: what is due meanwhile, a holder who is silent, and SMS of the team."""

import pytest

from skein.models.common.reason import Reason
from skein.models.config.desk import DueWork
from skein.planning.models.plan import Plan
from skein.services.chats.post_message import NewMessage
from skein.settings import Settings
from tests.support.agents import AHMAD, COACH, DESIGNER, HUSAM, actor, settle, stage
from tests.support.api_client import operator
from tests.support.builders import TENANT, World
from tests.support.desk import Desk
from tests.support.fakes import says
from tests.support.sms_choices import ready_phone

LEFT = "Mia has left the conversation. I can answer again."


def held(world: World) -> Desk:
    mia = Desk(world)
    assert mia.take().status == 200
    return mia


def passes(world: World, minutes: int) -> None:
    """Let minutes pass, each with its tick."""
    for _ in range(minutes):
        world.clock.advance(60)
        world.tick()
        settle(world)


@pytest.mark.parametrize(("due_work", "said"), [("wait", ["Stretch"]), ("drop", [])])
def test_plan_that_is_due_meanwhile_waits_or_is_dropped(due_work: DueWork, said: list[str]) -> None:
    world = stage()
    world.chat(HUSAM, AHMAD, COACH)
    assert operator(world).patch("/v1/settings", {"desk_due_work": due_work}).status == 200
    plan = {
        "name": "Sport",
        "instruction": "Stretch",
        "run_after": "10 minutes",
        "chat_id": "chat_1",
    }
    assert operator(world).post(f"/v1/agents/{COACH.id}/plans", plan).status == 201
    mia = held(world)
    passes(world, 12)
    assert world.messages() == []
    [item] = [item for key, item in world.table.all_items().items() if "PLAN#" in key.sk]
    assert Plan.from_item(item).reason == Reason.DESK
    world.model.default = says("Stretch")
    mia.hand_back()
    passes(world, 6)
    assert [message.text for message in world.messages()] == said


def test_silent_holder_loses_the_chat_with_one_notice() -> None:
    world = stage()
    world.chat(HUSAM, AHMAD, COACH)
    mia = held(world)
    passes(world, 40)
    mia.say("I am looking into it")
    passes(world, 50)
    assert mia.chat.held
    world.post("And?", HUSAM)
    world.model.default = says("I can help")
    passes(world, 12)
    texts = [message.text for message in world.messages()]
    assert sorted(texts[1:]) == sorted(["And?", LEFT, "I can help"])
    assert mia.say("Sorry").status == 409
    gone = mia.get()
    assert (gone.status, gone.body["details"]["ended_by"]) == (404, "silence")


def test_sms_of_the_team_has_the_holders_name_and_stop_holds_for_it() -> None:
    phone = ready_phone()
    world = phone.world
    assert operator(world).patch("/v1/settings", {"team_name": "Acme"}).status == 200
    mia = Desk(world, phone.chat_id)
    assert mia.take().status == 200
    assert mia.say("It **comes** today").status == 201
    world.drain()
    assert world.sms.bodies[-1] == "Mia from Acme: It comes today"
    world.clock.advance(10 * 3_600)
    refused = mia.say("Good night")
    assert (refused.status, refused.body["details"]) == (
        409,
        {"until": "2026-02-19T08:00:00.000Z"},
    )
    phone.text("Hello?")
    assert mia.say("I am here").status == 201
    phone.text("STOP")
    assert mia.say("Hello?").status == 409


def test_limits_hold_for_the_team() -> None:
    world = stage(settings=Settings(user_messages_per_minute=2))
    world.chat(HUSAM, AHMAD, COACH)
    mia = held(world)
    answers = [mia.say("One", "1"), mia.say("Two", "2"), mia.say("Three", "3"), mia.say("Two", "2")]
    assert [answer.status for answer in answers] == [201, 201, 429, 200]


def test_return_starts_runs_of_the_agents_that_were_asked_and_of_no_others() -> None:
    world = stage()
    actor(world, DESIGNER)
    world.chat(HUSAM, AHMAD, COACH, DESIGNER, respond="mention")
    world.post("@Designer, draw", HUSAM)
    mia = held(world)
    world.post("@Coach, help", HUSAM)
    world.post("Good morning", AHMAD)
    over = NewMessage(
        tenant=TENANT,
        chat_id="chat_1",
        sender=AHMAD.ref,
        text="@Designer, and @Coach",
        client_id="over",
        no_run_reason=Reason.RATE_LIMITED,
    )
    world.app.chats.post_message(over)
    mia.hand_back()
    settle(world)
    done = [run for run in world.runs() if run.status == "done"]
    assert {run.agent_id: run.trigger.seqs for run in done} == {
        DESIGNER.id: range(1, 2),
        COACH.id: range(2, 3),
    }
