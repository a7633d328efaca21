"""The tool `recall` finds old messages that may be shown."""

from typing import Any

import pytest

from tests.support.agents import COACH, HUSAM, results_of, settle, stage
from tests.support.builders import World
from tests.support.fakes import calls
from tests.support.recalling import DEPOSIT, indexed


def recalled(world: World, **arguments: Any) -> str:
    world.model.script.extend([calls(("recall", arguments)), calls("end_run")])
    world.post("Hi", HUSAM)
    settle(world)
    newest = max(world.runs("chat_1"), key=lambda run: run.id)
    return results_of(world, newest)[0].content


def group() -> World:
    world = stage()
    world.agent(COACH.id, enabled_tools=("recall", "end_run"))
    world.chat(HUSAM, COACH, respond="manual", chat_id="chat_2", title="Flat")
    world.post(DEPOSIT, HUSAM, chat_id="chat_2")
    indexed(world, "chat_2")
    world.chat(HUSAM, COACH)
    return world


def test_recall_shows_old_messages_by_chat_and_day() -> None:
    told = recalled(group(), query="How high is the deposit?")
    assert told == f'  -- 2026-02-18, "Flat" --\n  [msg:1] Husam: "{DEPOSIT}"'


def test_recall_by_day_and_person_leaves_out_others() -> None:
    world = group()
    assert DEPOSIT in recalled(world, query="the deposit", **{"from": "2026-02-18"})
    assert recalled(world, query="the deposit", to="2026-02-17") == "no messages found"
    assert recalled(world, query="the deposit", person="Lena") == "no messages found"


@pytest.mark.parametrize("name", ["from", "to"])
def test_recall_with_a_malformed_day_explains_the_format(name: str) -> None:
    told = recalled(group(), query="the deposit", **{name: "last March"})
    assert "from and to are dates such as 2026-02-18" in told


def test_recall_does_not_return_the_message_that_asks() -> None:
    world = group()
    question = "What deposit does the landlord want for the flat in Hafen?"
    world.model.script.extend([calls(("recall", {"query": question})), calls("end_run")])
    world.post(question, HUSAM)
    indexed(world, "chat_1")
    settle(world)
    [run] = world.runs("chat_1")
    told = results_of(world, run)[0].content
    assert DEPOSIT in told
    assert question not in told
