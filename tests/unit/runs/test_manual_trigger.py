"""Runs that a person asks for: all agents of a chat respond, one after another."""

from skein.errors import ModelRejected
from skein.models.common.base import NamedMember
from skein.models.runs.completion import ModelRequest
from skein.prompts import render
from tests.support.builders import TENANT, World, bot, person, statuses
from tests.support.fakes import MeanwhileTable, ScriptedModel

HUSAM = person()


def test_everyone_responds_one_after_another_and_sees_the_answers_before() -> None:
    world = _trio()
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    assert world.texts() == ["I am A", "I am B", "I am C"]
    seen_by_last = [message.content for message in world.model.requests[-1].messages]
    assert "[B (agent)] I am B" in seen_by_last


def test_respond_now_joins_a_run_that_is_queued_already() -> None:
    world = _trio()
    world.post("@A please", HUSAM)
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    assert world.texts() == ["@A please", "I am A", "I am B", "I am C"]


def test_chain_continues_after_a_failed_run_and_an_agent_that_left() -> None:
    world = _trio()
    world.model.script.append(ModelRejected("no"))
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    world.close_membership(bot("agt_b", "B"))
    world.drain()
    assert world.texts() == [render("notice_no_answer"), "I am C"]


def test_a_chain_passes_over_an_agent_that_leaves_at_that_very_moment() -> None:
    table = MeanwhileTable()
    world = _trio(table)
    leaves = bot("agt_b", "B").ref
    table.before = (
        "MEMBER#agent#agt_b",
        lambda: world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, leaves),
    )
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    assert world.texts() == ["I am A", "I am C"]
    assert statuses(world.runs()) == ["done", "done"]


def _trio(table: MeanwhileTable | None = None) -> World:
    def answer(request: ModelRequest) -> str:
        head = request.messages[0].content
        return f"I am {head.split('name: ')[1][1]}"

    world = World(model=ScriptedModel.saying(default=answer))
    if table is not None:
        world = World(model=world.model, overrides={"table": table})
        world.table = table
    agents: list[NamedMember] = []
    for name in ("A", "B", "C"):
        agent = world.agent(f"agt_{name.lower()}", name)
        agents.append(agent.as_member)
    world.chat(HUSAM, *agents, respond="mention")
    return world
