"""The commands of the README and of other pages do what the pages say, against a running stack."""

import json
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import Answer, ScriptedOpenAI
from tests.support.shell_pages import matches, run_page

NIGHT = 23  # in people's quiet hours

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def test_commands_of_readme_print_what_it_shows(start: StartStack, model: ScriptedOpenAI) -> None:
    client = start()
    model.say("Try the plank, three times a minute.")
    run_page("README.md", client.url)
    assert "What is a good exercise for my back?" in model.prompts()[0][-1]["content"]


def tells_the_group(request: Mapping[str, Any]) -> Answer:
    """Send a message to the group that the prompt lists."""
    found = re.search(r'"Our run" \(id: (chat_\w+)\)', str(request["messages"]))
    assert found is not None
    told = {"chat_id": found[1], "text": "I come ten minutes late."}
    return Answer("", tool_calls=(("send_message", told),))


def seconds_until(hour: int) -> int:
    """The seconds until a full hour in UTC."""
    now = datetime.now(UTC)
    return int(((hour - now.hour) % 24) * 3_600) or 24 * 3_600


def test_commands_of_tutorial_print_what_it_shows(start: StartStack, model: ScriptedOpenAI) -> None:
    client = start()
    client.ok("POST", "/local/clock", {"advance_seconds": seconds_until(NIGHT)})
    model.say("Let us start slowly. Your knee stays between us.")
    model.say("At the lake at 9. Ask Maya about last week.")
    model.then(tells_the_group).say("[silence]").say("[silence]")
    water = {"person": "Ben", "question": "Do you bring water?", "until": "1 day"}
    model.call_tools(("ask_someone", water)).say("[silence]")
    model.say("Hello, Emma!").say("Good luck!").say("That happens to many.")
    model.say("She runs there on 9 May.")
    model.say("How was your training, Maya?")
    asked = {"reason": "She wants one", "summary": "Maya wants to talk to a person"}
    model.call_tools(("ask_a_person", asked)).say("[silence]")
    run_page("docs/tutorial.md", client.url)
    direct, group, *_, father, plan, _, _ = (str(prompt) for prompt in model.prompts())
    assert "knee" in direct
    assert "knee" not in group
    assert "lake" in group
    assert "on 9 May" in father
    assert "exam" not in father
    assert "Ask Maya how her training goes." in plan


def test_commands_of_local_page_are_accepted(start: StartStack, model: ScriptedOpenAI) -> None:
    client = start()
    model.say("Hello!")
    outputs = [json.loads(output) for output in run_page("docs/local.md", client.url) if output]
    assert len(outputs) >= 9
    assert not [output for output in outputs if "error" in output]


def test_commands_of_how_to_guides_print_what_the_page_shows(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    told = {"text": "Rice and fruit, three hours before."}
    model.call_tools(("send_message", told)).say("").say("Hello Ben!")
    run_page("docs/how-to.md", client.url)
    assert "You plan meals for athletes." in str(model.prompts()[0])
    assert client.texts() == []


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        (
            '"id": "msg_01M8052A0RRXM7989ADR524XMF"\n',
            '"id": "msg_01M8052A0RRXM7989ADR524XMG"\n',
            True,
        ),
        ('"seq": 2\n', '"seq": 3\n', False),
        ("40 IDENTITY\n", "41 IDENTITY\n", True),
        ("NOW: 23:25 UTC\n", "NOW: 01:02 UTC\n", True),
        ("Coach: Yes.\n", "Coach: No.\n", False),
    ],
)
def test_output_that_differs_in_more_than_ids_and_times_is_another_one(
    shown: str, printed: str, same: bool
) -> None:
    assert matches(shown, printed) == same
