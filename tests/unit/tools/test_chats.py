"""Reading chats with tools: what a reset has hidden stays hidden."""

from typing import Any

import pytest

from skein.models.common.base import NamedMember
from tests.support.agents import COACH, END, results_of, settle, stage
from tests.support.builders import World, person
from tests.support.fakes import calls, says

DANA, EVE = person("usr_dana", "Dana"), person("usr_eve", "Eve")
HERE, OTHER, GROUP, EVES = "chat_here", "chat_other", "chat_group", "chat_eve"
SORE = "My shoulder is sore"
DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private"}


def _world() -> World:
    """Dana has two direct chats with Coach, and a private group; Eve has a direct chat."""
    world = stage()
    world.chat(DANA, COACH, chat_id=HERE, title="Here", **DIRECT)
    world.chat(DANA, COACH, chat_id=OTHER, title="Other", **DIRECT)
    world.chat(DANA, COACH, chat_id=GROUP, title="Group", respond="manual", visibility="private")
    world.chat(EVE, COACH, chat_id=EVES, title="Eve", **DIRECT)
    return world


def _say(world: World, text: str, chat_id: str = HERE, who: NamedMember = DANA) -> None:
    world.post(text, who, chat_id=chat_id)
    settle(world)
    world.clock.advance(60)


def _told(world: World, tool: str, **arguments: Any) -> str:
    """Let Coach call a tool in the first chat; return the result."""
    world.model.script.extend([calls((tool, arguments)), END])
    known = {run.id for run in world.runs(HERE)}
    _say(world, "What was before?")
    [run] = [run for run in world.runs(HERE) if run.id not in known]
    return results_of(world, run)[0].content


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_messages", {}),
        ("read_messages", {"limit": 1}),
        ("read_messages", {"before": 3}),
        ("read_messages", {"before": 2}),
        ("enter_chat", {"chat_id": HERE}),
    ],
)
def test_tools_after_a_reset_do_not_read_what_was_said_before(
    tool: str, arguments: dict[str, Any]
) -> None:
    world = _world()
    for text in (SORE, "Start over!"):
        _say(world, text)
    told = _told(world, tool, **arguments)
    assert SORE not in told
    assert ("What was before?" in told) == ("before" not in arguments)


def test_read_messages_after_a_gap_reads_what_was_said_before() -> None:
    world = _world()
    _say(world, SORE)
    world.clock.advance(7 * 24 * 3_600)
    assert SORE in _told(world, "read_messages")


@pytest.mark.parametrize("tool", ["read_messages", "enter_chat"])
@pytest.mark.parametrize("reset_in", [HERE, OTHER])
def test_tools_in_a_direct_chat_do_not_read_what_was_said_in_another_before_a_reset(
    tool: str, reset_in: str
) -> None:
    """A reset in the chat of the words hides them everywhere; so does one in the active chat."""
    world = _world()
    _say(world, SORE, OTHER)
    _say(world, "Start over!", reset_in)
    _say(world, "I row now", OTHER)
    told = _told(world, tool, chat_id=OTHER)
    assert SORE not in told
    assert "I row now" in told


def test_read_messages_of_a_group_is_not_limited_by_a_reset_in_the_active_chat() -> None:
    world = _world()
    _say(world, SORE, GROUP)
    _say(world, "Start over!")
    assert SORE in _told(world, "read_messages", chat_id=GROUP)


def test_reset_of_another_person_hides_nothing() -> None:
    world = _world()
    _say(world, SORE)
    _say(world, "Start over!", EVES, EVE)
    assert SORE in _told(world, "read_messages")


@pytest.mark.parametrize("reset_in", [HERE, OTHER])
def test_borrow_context_after_a_reset_stages_nothing_from_before(reset_in: str) -> None:
    world = _world()
    _say(world, SORE, OTHER)
    _say(world, "Start over!", reset_in)
    told = _told(world, "borrow_context", chat_id=OTHER)
    _say(world, "And now?")
    assert SORE not in world.model.prompt
    assert ("will be shown" in told) == (reset_in == OTHER)  # the reset itself may be borrowed


@pytest.mark.parametrize("reset_in", [HERE, OTHER, None])
def test_borrowed_context_that_was_staged_before_a_reset_is_not_shown(reset_in: str | None) -> None:
    world = _world()
    _say(world, SORE, OTHER)
    assert "will be shown" in _told(world, "borrow_context", chat_id=OTHER)
    if reset_in is not None:
        _say(world, "Start over!", reset_in)
    _say(world, "And now?")
    assert (SORE in world.model.prompt) == (reset_in is None)


@pytest.mark.parametrize(("reset_in", "shown"), [(HERE, False), (OTHER, False), (None, True)])
def test_get_my_runs_after_a_reset_previews_nothing_that_was_sent_before(
    reset_in: str | None, *, shown: bool
) -> None:
    world = _world()
    world.model.script.append(says(f"You said: {SORE}"))
    _say(world, "What did I say?", OTHER)
    if reset_in is not None:
        _say(world, "Start over!", reset_in)
    told = _told(world, "get_my_runs")
    assert (SORE in told) is shown
    assert told.count("- run_") >= 2


def test_messages_that_tools_read_have_no_marks_of_a_prompt() -> None:
    world = _world()
    _say(world, SORE)
    told = _told(world, "read_messages")
    assert f'Dana: "{SORE}"' in told
    assert "[NEW]" not in told
    assert "[SEEN]" not in told
