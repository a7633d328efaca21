"""A case of a run: its recorded prompt, rendered for a version of the agent; no tool is called."""

from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Conflict
from skein.models.common.storage import Query, Update
from skein.models.directory.agent import Agent
from skein.models.runs.step import Step
from skein.trials.models.case import Case
from skein.trials.models.expectation import Played, PlayedCall
from skein.trials.run_cases import RunCases, comparable
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.fakes import Script, ScriptedModel, calls
from tests.support.own_tools import LOOK_UP, own_tool

ASKED: Script = calls(("order_status", {"order": "7"}))


def told(*script: Script, **fields: Any) -> World:
    """A direct chat in which the agent has answered one message."""
    world = World(model=ScriptedModel.saying(*script, default="Nothing more."))
    world.agent(system_prompt="You sell boats.", **fields)
    world.chat(person(), bot(), kind="direct", visibility="private")
    own_tool(world, LOOK_UP)
    world.post("Where is my order?", person())
    world.drain()
    return world


def steps_of(world: World) -> list[Step]:
    [run] = world.runs()
    page = world.table.query(Query.under(run.key.pk, Step.prefix_of(run.key)))
    return list(Step.each_of(page.items))


def case(world: World, **fields: Any) -> Case:
    [run] = world.runs()
    owner = {"tenant": TENANT, "agent_id": "agt_a", "id": "case_1", "created_at": NOON}
    given = {"name": "Order", "expect": [{"silent": True}], "run_id": run.id}
    return Case.model_validate(owner | given | fields)


def play(world: World, played: Case, *script: Script, **changes: Any) -> Played:
    world.model.script.extend(script)
    agent = world.app.agents.get(TENANT, "agt_a").model_copy(update=changes)
    until = world.clock.now() + timedelta(minutes=14)
    return world.app.get(RunCases).play(played, agent, {}, until=until).played


def words(world: World) -> str:
    return "\n".join(each.content for each in world.model.requests[-1].messages)


def test_prompt_has_identity_instructions_and_tools_of_the_version() -> None:
    world = told("At sea.", enabled_tools=("order_status",))
    given = {"system_prompt": "You sell kites.", "enabled_tools": ("send_message", "ask_choice")}
    found = play(world, case(world), "No idea.", model="other", **given)
    request, asked = world.model.requests[-1], words(world)
    assert found.texts == ("No idea.",)
    assert "You sell kites." in asked
    assert "You sell boats." not in asked
    assert "Where is my order?" in asked
    assert request.model == "other"
    assert {tool.name for tool in request.tools} == {"ask_choice"}


def test_model_has_the_time_of_a_turn() -> None:
    world = told("At sea.")
    given = world.model.requests[-1].timeout_seconds
    play(world, case(world), "No idea.")
    assert world.model.requests[-1].timeout_seconds == given


def test_equal_call_gets_the_recorded_result_and_no_tool_is_called() -> None:
    world = told(ASKED, "On its way.", enabled_tools=("order_status",))
    sent, before = len(world.service.requests), world.table.all_items()
    found = play(world, case(world), ASKED, "It is on its way.")
    assert found.texts == ("It is on its way.",)
    assert (found.steps, found.unrecorded) == (2, None)
    [recorded] = [r for each in steps_of(world) for r in each.results or ()]
    assert found.calls == (PlayedCall("order_status", {"order": "7"}, recorded.content),)
    assert recorded.content in words(world)
    assert len(world.service.requests) == sent
    assert world.table.all_items() == before


def test_other_call_gets_a_result_of_the_case_or_ends_it() -> None:
    world = told(ASKED, "On its way.", enabled_tools=("order_status",))
    other: Script = calls(("order_status", {"order": "8"}))
    results = [{"tool": "order_status", "arguments": {"order": "8"}, "result": "lost"}]
    found = play(world, case(world, results=results), other, "It is lost.")
    assert (found.texts, found.unrecorded) == (("It is lost.",), None)
    found = play(world, case(world), other, "It is lost.")
    assert found.texts == ()
    assert found.unrecorded == PlayedCall("order_status", {"order": "8"})


def test_silence_posts_nothing() -> None:
    world = told("At sea.")
    assert play(world, case(world), "[silence]").texts == ()


def test_erased_prompt_cannot_be_played() -> None:
    world = told("At sea.")
    kept = case(world)
    [step] = steps_of(world)
    key = Step.key_of(TENANT, step.run_id, step.n)
    world.table.write(Update(key, set={"prompt": None}))
    with pytest.raises(Conflict):
        play(world, kept, "No.")


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"system_prompt": "x"}, True),
        ({"model": "x"}, True),
        ({"enabled_tools": ()}, True),
        ({"reply_mode": "tools"}, False),
        ({"settings": {"recall_tokens": 0}}, False),
        ({"settings": {"fallback_seconds": 60}}, True),
    ],
)
def test_versions_with_other_sections_are_not_comparable(
    changes: dict[str, Any], same: bool
) -> None:
    agent = Agent(tenant=TENANT, id="agt_a", name="Coach", created_at=NOON)
    world = told("At sea.")
    assert comparable(case(world), agent, agent.model_copy(update=changes)) is same
