"""Writes of tools happen once, whichever activation, run or worker carries on."""

from collections.abc import Callable
from typing import Any

import pytest

from skein.models.runs.completion import ModelRequest
from tests.support.agents import COACH, HUSAM, stage
from tests.support.builders import World
from tests.support.desk import Desk
from tests.support.fakes import Script, calls
from tests.support.own_tools import BOOK, own_tool
from tests.unit.own_tools.test_calls import DIRECT, answer, results

BOOKS = calls(("book_table", {"day": "Tuesday"}))
NAME = "book_table"


def staged(*script: Script, record: dict[str, Any] = BOOK, **changes: Any) -> World:
    """A direct chat of Husam with the agent, who has a tool that writes."""
    world = stage(*script, reply_mode="text", enabled_tools=(NAME,))
    own_tool(world, record, **changes)
    world.chat(HUSAM, COACH, **DIRECT)
    return world


def taken(world: World) -> Callable[[ModelRequest], str]:
    """Return an answer of the model during which Mia takes the chat over."""

    def answered(_: ModelRequest) -> str:
        assert Desk(world).take().status == 200
        return "Booked!"

    return answered


def handed_back(world: World, *, silent: bool) -> None:
    """Let the chat go back to its agents, by its holder or after an hour of silence."""
    if not silent:
        assert Desk(world).hand_back().status == 204
    else:
        for _ in range(62):
            world.clock.advance(60)
            world.tick()
            world.drain()
    world.drain()


def asks(world: World) -> None:
    world.post("Book Tuesday", HUSAM)
    world.drain()


# ---------------------------------------------------------------------- the desk


@pytest.mark.parametrize("silent", [False, True])
def test_agreed_call_after_take_over_and_return_is_not_made_again(silent: bool) -> None:
    world = staged(approval="person")
    world.model.script.extend([BOOKS, "Shall I?", taken(world), "It is booked."])
    asks(world)
    answer(world, "yes")
    assert len(world.service.requests) == 1
    handed_back(world, silent=silent)
    assert len(world.service.requests) == 1
    assert world.texts()[-1] == "It is booked."
    assert results(world)[-1].status == "done"


@pytest.mark.parametrize("silent", [False, True])
def test_equal_write_after_take_over_and_return_reuses_the_outcome(silent: bool) -> None:
    world = staged()
    world.model.script.extend([BOOKS, taken(world), BOOKS, "It is booked."])
    asks(world)
    handed_back(world, silent=silent)
    assert len(world.service.requests) == 1
    assert [one.status for one in results(world)] == ["done", "done"]
    assert world.texts()[-1] == "It is booked."


def test_take_over_during_the_call_keeps_its_outcome_for_the_run_after_the_return() -> None:
    world = staged()
    world.model.script.extend([BOOKS, BOOKS, "It is booked."])
    answered = world.service.answer

    def during(request: Any) -> Any:
        assert Desk(world).take().status == 200
        return answered(request)

    world.service.answer = during
    asks(world)
    handed_back(world, silent=False)
    assert len(world.service.requests) == 1
    assert results(world)[-1].status == "done"
    assert world.texts()[-1] == "It is booked."
