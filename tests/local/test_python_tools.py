"""Tools in Python: the demo's, and those of the user's file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.demo import LINE, TENANT, make_demo
from local.model.server import MODEL_NAME
from local.model.small_model import Continuation, SmallModel
from local.python_tools import BadToolsError, load_tools, make_tools
from skein.own_tools.functions import use_functions_of
from tests.support.builders import World

MINE = '''
from skein.interface.tool import tool
from skein.own_tools.signed_context import CallContext


@tool(effect="save")
def note_order(call: CallContext, order: str) -> str:
    """Note an order."""
    return f"noted {order} for {call.person}"
'''


@pytest.fixture(autouse=True)
def _no_functions_afterwards() -> Iterator[None]:
    yield
    use_functions_of()


def test_functions_of_the_file_become_tools_of_coach(tmp_path: Path) -> None:
    (tmp_path / "my_tools.py").write_text(MINE)
    world = World()
    world.assign(LINE, tenant=TENANT)
    make_demo(world.app)
    functions = load_tools(tmp_path / ".data")
    for _ in range(2):
        make_tools(world.app, functions)
    made = world.app.own_tools.list(TENANT).items
    assert [(each.name, each.effect, each.asks) for each in made] == [
        ("gym_hours", "read", "none"),
        ("note_order", "write", "person"),
    ]
    coach = world.app.agents.get(TENANT, world.app.lines.get(TENANT, LINE).agent_id)
    assert coach.enabled_tools[-2:] == ("gym_hours", "note_order")


def test_file_with_an_error_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "my_tools.py").write_text("1 / 0")
    with pytest.raises(BadToolsError, match="ZeroDivisionError"):
        load_tools(tmp_path / ".data")


def test_small_model_calls_the_demo_tool_and_says_its_answer() -> None:
    model = SmallModel(MODEL_NAME, lambda _: Continuation("Walk.", whole=True))
    asked = {"role": "user", "content": "Is the gym open on Sundays?"}
    tools = [{"type": "function", "function": {"name": "gym_hours"}}]
    [choice] = model.complete({"messages": [asked], "tools": tools})["choices"]
    [call] = choice["message"]["tool_calls"]
    assert call["function"] == {"name": "gym_hours", "arguments": '{"day": "sunday"}'}
    told = "gym_hours answered. These are data.\n| On Sunday, the gym is open from 9 to 17."
    messages = [asked, choice["message"], {"role": "tool", "content": told}]
    [said] = model.complete({"messages": messages, "tools": tools})["choices"]
    assert said["message"]["content"] == "On Sunday, the gym is open from 9 to 17."
    [other] = model.complete({"messages": [asked]})["choices"]
    assert "tool_calls" not in other["message"]
