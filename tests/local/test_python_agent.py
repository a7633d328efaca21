"""An agent in one file: made once, changed by a later start, reloaded, and its errors."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.demo import LINE, TENANT
from local.python_agent import BadAgentError, PythonAgent, reloading
from local.python_tools import BadToolsError
from local.template import ROOT
from skein.models.directory.agent import Agent
from skein.own_tools.functions import installed_functions, use_functions_of
from tests.support.builders import World

EXAMPLE = ROOT / "examples" / "my_agent.py"


@pytest.fixture(autouse=True)
def _no_functions_afterwards() -> Iterator[None]:
    yield
    use_functions_of()


@pytest.fixture
def world() -> World:
    made = World()
    made.assign(LINE, tenant=TENANT)
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "my_agent.py"
    file.write_text(EXAMPLE.read_text())
    return file


def agents(world: World) -> tuple[Agent, ...]:
    return world.app.agents.list(TENANT).items


def test_second_start_keeps_the_agent_and_changes_it(world: World, path: Path) -> None:
    first = PythonAgent.load(path).serve(world.app, path.parent / "data")
    assert (first.name, first.enabled_tools[-1]) == ("Luigi", "opening_hours")
    assert PythonAgent.load(path).serve(world.app, path.parent / "data") == first
    path.write_text(path.read_text().replace("Be short", "Be long"))
    PythonAgent.load(path).serve(world.app, path.parent / "data")
    [agent] = agents(world)
    assert agent.id == first.id
    assert "Be long" in agent.system_prompt
    assert world.app.lines.get(TENANT, LINE).agent_id == first.id


def test_line_goes_to_the_agent_of_the_last_file(world: World, path: Path) -> None:
    PythonAgent.load(path).serve(world.app, path.parent / "data")
    path.write_text('name = "Ann"\nprompt = "You are Ann."\n')
    ann = PythonAgent.load(path).serve(world.app, path.parent / "data")
    assert {each.name for each in agents(world)} == {"Luigi", "Ann"}
    assert world.app.lines.get(TENANT, LINE).agent_id == ann.id


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name = "Ann"', "has no agent: add a line"),
        ("prompt = 1", "`prompt` is a int"),
        ('prompt = "Hi"\nname = " "', "name"),
        ('prompt = "Hi"\ntools = ["no_such_tool"]', "no_such_tool"),
    ],
)
def test_error_in_a_value_is_told(world: World, path: Path, text: str, told: str) -> None:
    path.write_text(text)
    with pytest.raises(BadAgentError, match=told):
        PythonAgent.load(path).serve(world.app, path.parent / "data")


def test_file_that_is_missing_or_fails_is_told(path: Path) -> None:
    with pytest.raises(BadAgentError, match="there is no file"):
        PythonAgent.load(path.with_name("none.py"))
    path.write_text("1 / 0")
    with pytest.raises(BadToolsError, match="ZeroDivisionError"):
        PythonAgent.load(path)


def test_change_is_reloaded_and_an_error_keeps_the_agent(world: World, path: Path) -> None:
    PythonAgent.load(path).serve(world.app, path.parent / "data")
    with reloading(path, path.parent / "data", world.app):
        time.sleep(0.1)
        path.write_text("1 /")
        time.sleep(0.5)
        assert "Be short" in agents(world)[0].system_prompt
        path.write_text(EXAMPLE.read_text().replace("Be short", "Be long"))
        for _ in range(50):
            if "Be long" in agents(world)[0].system_prompt and installed_functions():
                break
            time.sleep(0.1)
    assert "Be long" in agents(world)[0].system_prompt
    assert "opening_hours" in installed_functions()
