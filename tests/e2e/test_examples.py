"""The programs in `examples/` do what their page says, on a local stack."""

import sys
from importlib import import_module
from types import ModuleType

import pytest

from local.template import ROOT
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI

EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def example(name: str) -> ModuleType:
    sys.modules.pop(name, None)
    return import_module(name)


def test_each_example_is_tested_and_on_the_page() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    programs = {path.name for path in EXAMPLES.glob("*.py")} - {"stack.py"}
    assert programs == {"my_agent.py", "sms_coach.py", "family.py", "help_desk.py"}
    assert all(f"]({name})" in page for name in programs)


def test_examples_do_what_the_page_says(start: StartStack, model: ScriptedOpenAI) -> None:
    url = start(quiet_hours='{"from": "00:00", "to": "00:00"}').url
    model.call_tools(("order_status", {"order": "1234"})).say("It is on its way.")
    asked = {"reason": "She wants one", "summary": "Ann asks for a person"}
    model.call_tools(("ask_a_person", asked)).say("[silence]")
    chat = example("help_desk").main(url)
    assert chat[:2] == ["Ann: Where is my order 1234?", "Hugo: It is on its way."]
    assert "Mia: Hello Ann, your parcel comes at noon." in chat
    assert "It is on its way." in str(model.prompts()[1])

    model.say("I keep it.").call_tools(("send_message", {"text": "Wait and see, Ben!"}))
    sections = example("family").main(url)
    assert sections["Ann's chat"]
    assert sections["the group"] == []

    model.say("Five kilometres.").say("How was the run?")
    assert example("sms_coach").main(url) == ["Five kilometres.", "How was the run?"]
