"""Runs for a person who has opted out of SMS: none asks the model."""

import pytest

from skein.models.common.reason import Reason
from skein.models.common.storage import Update
from skein.models.runs.trigger import PlanTrigger, Trigger
from skein.services.runs.background_runs import agent_run
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, says
from tests.support.routes import sms_route

DANA, COACH = person("usr_dana", "Dana"), bot()
SMS = sms_route(line=LINE, phone=PHONE)


def texting(model: ScriptedModel | None = None) -> World:
    """Return a direct chat on SMS, with summaries and consolidation."""
    world = World(model=model or ScriptedModel.saying(default="Hello!"))
    world.agent()
    world.chat(DANA, COACH, kind="direct", visibility="private", route=SMS, consolidate=True)
    return world


def stop(world: World, word: str = "STOP") -> None:
    said = {"STOP": True, "START": False}[word]
    world.post(word, DANA, kind="keyword", route=SMS, opted_out=said)


def asked(world: World) -> int:
    """Return how many calls of the model are made until nothing is due for a day."""
    before = len(world.model.requests)
    world.drain()
    world.hours_pass(24)
    world.tick()
    world.drain()
    return len(world.model.requests) - before


def test_sms_after_stop_starts_no_run_and_costs_no_model_call() -> None:
    world = texting()
    stop(world)
    for text in ("Who are you?", "Leave me alone", "Hm"):
        message = world.post(text, DANA, route=SMS).message
        assert message.reason == Reason.OPTED_OUT
    assert asked(world) == 0
    assert world.runs() == []
    assert world.texts() == ["STOP", "Who are you?", "Leave me alone", "Hm"]


def test_sms_after_start_is_answered_and_shows_the_messages_before() -> None:
    world = texting()
    stop(world)
    world.post("My knee hurts", DANA, route=SMS)
    stop(world, "START")
    world.post("Hello again", DANA, route=SMS)
    world.drain()
    assert world.texts()[-1] == "Hello!"
    assert "My knee hurts" in str(world.model.requests[-1].messages)
    assert world.deliveries()[0].status == "sent"


def test_stop_before_a_queued_run_starts_cancels_the_run_without_a_model_call() -> None:
    world = texting()
    world.post("How far today?", DANA, route=SMS)
    stop(world)
    assert asked(world) == 0
    [run] = world.runs()
    assert (run.status, run.reason) == ("canceled", Reason.OPTED_OUT)
    stop(world, "START")
    world.post("And now?", DANA, route=SMS)
    world.drain()
    assert world.texts()[-1] == "Hello!"


def test_stop_while_a_run_waits_ends_the_run_without_a_model_call() -> None:
    world = texting(ScriptedModel.saying(says("How long?", wait=True), default="Hello!"))
    world.agent(reply_mode="tools")
    world.post("Plan my run", DANA, route=SMS)
    world.run_ready()
    world.clock.advance(4)
    world.run_ready()
    assert [run.status for run in world.runs()] == ["waiting"]
    stop(world)
    world.post("An hour", DANA, route=SMS)
    assert asked(world) == 0
    [run] = world.runs()
    assert (run.status, run.reason) == ("canceled", Reason.OPTED_OUT)


def test_message_from_the_app_after_stop_is_answered() -> None:
    world = texting()
    stop(world)
    world.post("I am in the app now", DANA)
    world.drain()
    assert world.texts()[-1] == "Hello!"


def test_request_to_respond_after_stop_is_answered_for_the_app() -> None:
    world = texting()
    stop(world)
    world.app.manual_trigger.now(TENANT, "chat_1", DANA.ref)
    world.drain()
    assert world.texts()[-1] == "Hello!"


def test_group_with_a_member_who_has_opted_out_is_answered() -> None:
    world = World()
    world.agent()
    world.chat(DANA, person(), COACH, route=SMS)
    key = world.membership(DANA.ref).key
    world.table.write(Update(key, set={"opt_outs": {"sms": "2026-02-18T12:00:00Z"}}))
    world.post("Hi all", person())
    world.drain()
    assert world.texts()[-1] == "Hello!"


@pytest.mark.parametrize("opted_out", [True, False])
def test_plan_in_the_chat_of_an_opted_out_person_costs_no_model_call(opted_out: bool) -> None:
    world = texting()
    if opted_out:
        stop(world)
    trigger = PlanTrigger(id="plan_1", name="Ask", instruction="Ask Dana", scheduled_at=NOON)
    made = agent_run(
        tenant=TENANT,
        agent_id=COACH.id,
        trigger=Trigger(type="plan", plan=trigger, traced_to=DANA.id),
        cause=("plan", "plan_1", "now"),
        now=world.clock.now(),
        audience=world.stored_chat().readers,
        chat=world.stored_chat(),
    )
    world.table.transact(made.writes)
    world.clock.advance(5)
    world.take(made.run.job)
    assert len(world.model.requests) == (0 if opted_out else 1)
