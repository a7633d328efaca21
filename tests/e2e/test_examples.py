"""The programs in `examples/` do what their page says, on a local stack."""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import pytest

from local.folders import ROOT
from local.python_agent import PythonAgent
from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI

EXAMPLES = ROOT / "examples"
NO_QUIET_HOURS = '{"from": "00:00", "to": "00:00"}'


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def example(name: str) -> ModuleType:
    sys.modules.pop(name, None)
    return import_module(name)


def test_each_example_is_tested_and_on_the_page() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    programs = {path.name for path in EXAMPLES.glob("*.py")} - {"stack.py"}
    agents = {"my_agent.py", "receptionist.py", "shop.py", "family.py"}
    assert programs == agents | {"sms_coach.py", "family_secret.py", "help_desk.py"}
    assert all(f"]({name})" in page for name in programs)


def test_examples_do_what_the_page_says(start: StartStack, model: ScriptedOpenAI) -> None:
    url = start(quiet_hours=NO_QUIET_HOURS).url
    model.call_tools(("order_status", {"order": "1234"})).say("It is on its way.")
    asked = {"reason": "She wants one", "summary": "Ann asks for a person"}
    model.call_tools(("ask_a_person", asked)).say("[silence]")
    chat = example("help_desk").main(url)
    assert chat[:2] == ["Ann: Where is my order 1234?", "Hugo: It is on its way."]
    assert "Mia: Hello Ann, your parcel comes at noon." in chat
    assert "It is on its way." in str(model.prompts()[1])

    model.say("I keep it.").call_tools(("send_message", {"text": "Wait and see, Ben!"}))
    sections = example("family_secret").main(url)
    assert sections["Ann's chat"]
    assert sections["the group"] == []

    model.say("Five kilometres.").say("How was the run?")
    assert example("sms_coach").main(url) == ["Five kilometres.", "How was the run?"]


@pytest.fixture
def run(start: StartStack) -> Callable[[str], Client]:
    """Serves the agent of an example, as `skein run` does."""
    return lambda name: start(agent=PythonAgent.load(EXAMPLES / name), quiet_hours=NO_QUIET_HOURS)


def said(client: Client, text: str) -> str:
    """The last SMS to the phone after it has sent one."""
    client.text(text)
    client.drain()
    return client.texts()[-1]


def agreed(client: Client) -> str:
    """The last SMS after the person has said yes to the question before."""
    [number] = re.findall(r"Yes: reply (\d+)", client.texts()[-1])
    return said(client, number)


def results(model: ScriptedOpenAI) -> str:
    """What the model has read last, with the results of its calls."""
    return str(model.calls[-1].body["messages"])


def test_receptionist_offers_free_times_and_books_after_a_yes(
    run: Callable[[str], Client], model: ScriptedOpenAI
) -> None:
    client = run("receptionist.py")
    monday, friday = {"day": "2026-03-02"}, {"day": "2026-03-06"}
    model.call_tools(("opening_hours", friday), ("free_times", friday)).say("At 9, 10 or 11.")
    assert said(client, "Is Friday possible?") == "At 9, 10 or 11."
    assert "09:00 to 12:00" in results(model)
    assert "09:00, 10:00, 11:00" in results(model)

    wanted = {**monday, "time": "09:00", "patient": "Ann", "reason": "a check"}
    model.call_tools(("book_appointment", wanted)).say("[silence]").say("See you on Monday at 9!")
    assert "book_appointment" in said(client, "Monday at 9 then, for a check. I am Ann.")
    assert agreed(client) == "See you on Monday at 9!"
    assert "Booked for Ann on Monday, 02 March at 09:00." in results(model)
    model.call_tools(("free_times", monday)).say("From 10.")
    said(client, "And what is still free on Monday?")
    assert "10:00, 11:00, 14:00, 15:00" in results(model)


def test_shop_tells_an_order_by_its_postcode_and_returns_it_after_a_yes(
    run: Callable[[str], Client], model: ScriptedOpenAI
) -> None:
    client = run("shop.py")
    order = {"order": "5678", "postcode": "80331"}
    model.call_tools(("order_status", order | {"postcode": "1"})).say("Please check the postcode.")
    assert said(client, "Where is 5678? My postcode is 1.") == "Please check the postcode."
    assert "There is no such order" in results(model)

    model.call_tools(("return_order", order | {"reason": "too small"})).say("[silence]")
    model.say("Your label is ready.")
    assert "return_order" in said(client, "5678 to 80331 is too small, I want to return it.")
    assert agreed(client) == "Your label is ready."
    assert "https://shop.example/returns/5678" in results(model)
    model.call_tools(("order_status", order)).say("It is being returned.")
    assert said(client, "Did it work?") == "It is being returned."
    assert "Road shoes, 39: being returned." in results(model)


def test_family_shares_a_list_between_phones_and_reminds_people(
    run: Callable[[str], Client], model: ScriptedOpenAI
) -> None:
    client = run("family.py")
    model.call_tools(("add_to_list", {"things": ["milk"]})).say("[silence]").say("Milk is on it.")
    assert "add_to_list" in said(client, "We need milk")
    assert agreed(client) == "Milk is on it."
    model.call_tools(("shopping_list", {})).say("Only milk.")
    ben = Client(client.url)
    assert said(ben, "What do we need?") == "Only milk."
    assert "milk" in results(model)

    plan = {"name": "Dog", "instruction": "Remind Ben of the dog.", "run_after": "2 hours"}
    model.call_tools(("set_plan", plan)).say("I will.").say("The dog is waiting, Ben!")
    assert said(ben, "Remind me of the dog in two hours") == "I will."
    client.turn(7_260)
    client.drain()
    assert ben.texts()[-1] == "The dog is waiting, Ben!"
