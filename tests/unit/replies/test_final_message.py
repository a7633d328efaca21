"""A run's last answer, what it says and the run's end: one transaction, or none of it is there."""

from collections.abc import Callable

import pytest

from skein.errors import ConditionFailed
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.storage import Update
from skein.models.outbox.jobs import RunJob
from skein.models.runs.completion import ModelRequest
from tests.support.agents import steps_of
from tests.support.builders import TENANT, World, bot, person, statuses
from tests.support.fakes import MeanwhileTable, Said, ScriptedModel, calls, says
from tests.support.sms import Texting

HUSAM, COACH, ANALYST = person(), bot(), bot("agt_b", "Analyst")


def direct(*script: Said | Callable[[ModelRequest], Said]) -> World:
    """A direct chat in which Husam has said hello, and what the model will say."""
    table = MeanwhileTable()
    world = World(model=ScriptedModel.saying(*script), overrides={"table": table})
    world.table = table
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.post("Hello", HUSAM)
    return world


def answers(world: World) -> int:
    """How many answers of models the tenant has been counted today."""
    return world.app.usage.of_day(TENANT).answers


def test_the_answer_its_words_and_the_end_are_written_together() -> None:
    world = direct("Hi!")
    written = len([call for call in world.table.log if call.method == "transact"])
    world.drain()
    [run] = world.runs()
    assert run.status == "done"
    assert run.steps_taken == 1
    assert world.texts() == ["Hello", "Hi!"]
    assert [step.text for step in steps_of(world, run)] == ["Hi!"]
    transactions = [call for call in world.table.log if call.method == "transact"][written:]
    # The claim with the permit, all the rest of the run, and its tokens' counters and charges.
    assert [call.items for call in transactions] == [3, 6, 5]


def test_a_silent_answer_is_recorded_with_the_end() -> None:
    world = direct("[silence]")
    world.drain()
    [run] = world.runs()
    assert run.status == "done"
    assert [step.text for step in steps_of(world, run)] == ["[silence]"]
    assert world.texts() == ["Hello"]
    assert answers(world) == 1


def test_answer_to_chat_discarded_meanwhile_is_not_posted_and_cancels_the_run() -> None:
    def discards(_: ModelRequest) -> Said:
        world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
        return "Too late"

    world = direct(discards)
    world.drain()
    [run] = world.runs()
    assert run.status == "canceled"
    assert world.texts() == ["Hello"]


def test_message_during_run_precedes_final_message_and_is_answered_next() -> None:
    def interrupts(_: ModelRequest) -> Said:
        world.post("One thing more", HUSAM)
        return "Hi!"

    world = direct(interrupts, "Go on.")
    world.drain()
    assert world.texts() == ["Hello", "One thing more", "Hi!", "Go on."]
    assert statuses(world.runs()) == ["done", "done"]
    membership = world.membership(COACH)
    assert membership.running_run is None
    assert membership.queued_run is None


def test_an_answer_that_cannot_be_posted_is_used_by_the_next_attempt() -> None:
    """Twenty times somebody else writes the chat first; the model is not asked again."""
    world = direct("Hi!")
    table = world.table
    assert isinstance(table, MeanwhileTable)

    def busy() -> None:
        table.before = ("MSG#", busy)
        raise ConditionFailed(frozenset({2}))

    table.before = ("MSG#", busy)
    world.clock.advance(world.settings.reply_debounce_seconds)
    world.run_ready()
    [run] = world.runs()
    assert (run.status, run.steps_taken) == ("running", 1)
    assert world.texts() == ["Hello"]
    assert answers(world) == 1
    table.before = None
    world.clock.advance(60)
    world.drain()
    assert world.texts() == ["Hello", "Hi!"]
    assert len(world.model.requests) == 1


def test_final_answer_in_entered_chat_is_posted_once_and_ends_the_run() -> None:
    world = World(
        model=ScriptedModel.saying(calls(("enter_chat", {"chat_id": "chat_2"})), "Hello, all!")
    )
    world.agent()
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2", title="Elsewhere")
    world.post("Say hello there", HUSAM)
    world.drain()
    assert statuses(world.runs()) == ["done"]
    said = [*world.texts(), *world.texts("chat_2")]
    assert said.count("Hello, all!") == 1
    assert world.membership(COACH).running_run is None


def test_each_of_a_chain_answers_though_its_words_wake_the_next() -> None:
    world = World()
    world.agent()
    world.agent("agt_b", "Analyst")
    world.chat(HUSAM, COACH, ANALYST)
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    first, second = world.messages()[:2]
    assert [first.sender.id, second.sender.id] == ["agt_a", "agt_b"]
    assert set(statuses(world.runs())) == {"done"}


@pytest.mark.parametrize("user_id", [None, "usr_nobody"])
def test_run_job_without_or_with_another_user_id_is_carried_out(user_id: str | None) -> None:
    world = direct("Hi!")
    world.clock.advance(world.settings.reply_debounce_seconds)
    job = RunJob(tenant=TENANT, run_id=world.runs()[0].id, agent_id="agt_a", user_id=user_id)
    world.take(job)
    assert world.texts() == ["Hello", "Hi!"]
    assert any("Hello" in message.content for message in world.model.requests[0].messages)


def test_an_opt_out_while_the_model_thinks_keeps_the_answer_from_the_phone() -> None:
    """The carrier's word comes by a callback, which leaves the chat itself as it was."""
    world = Texting()

    def opts_out(_: ModelRequest) -> Said:
        key = Membership.key_of(TENANT, "chat_1", MemberRef(kind="user", id="usr_husam"))
        world.table.write(Update(key, set={"opt_outs": {"sms": rfc3339(world.clock.now())}}))
        return "Hi!"

    world.model.script.append(opts_out)
    membership = world.membership(person())
    world.post("Hello", person(), route=membership.route)
    world.drain()
    assert world.texts() == ["Hello", "Hi!"]
    assert world.deliveries() == []
    assert world.sms.bodies == []


def test_a_tool_that_speaks_before_the_last_answer_speaks_once() -> None:
    moment = says("One moment", chat_id="chat_2")
    world = World(model=ScriptedModel.saying(moment, "Done."))
    world.agent(enabled_tools=("send_message",))
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2", title="Elsewhere", respond="manual")
    world.post("Go", HUSAM)
    world.drain()
    assert world.texts("chat_2") == ["One moment"]
    assert world.texts() == ["Go", "Done."]
    [run] = world.runs()
    assert [step.n for step in steps_of(world, run)] == [1, 2]
