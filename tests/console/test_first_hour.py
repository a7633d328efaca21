"""The first hour: from a started stack to an agent of one's own, by clicks on what is visible."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import NO_LIMITS
from tests.console.driver import Driver
from tests.e2e.process import running_stack
from tests.support.scripted_openai import Answer, ScriptedOpenAI

MOST_CLICKS = 42
AGENT, LINE, TOOL = "Mira", "+15005550016", "book_table"
SLOW_MS = 60_000  # for an answer of an agent on a busy machine
PARAMETERS = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}


class Bookings(BaseHTTPRequestHandler):
    """A service that takes bookings."""

    taken: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.taken.append(json.loads(body))
        answer = b'{"booking": "B-17"}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def bookings() -> Iterator[str]:
    Bookings.taken.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Bookings) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/bookings"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def _url(_model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stack as `make run` starts it, with a model that follows an instruction."""
    folder = tmp_path_factory.mktemp("first_hour")
    environment = {"OPENAI_BASE_URL": _model.base_url, **NO_LIMITS}
    with running_stack(folder / "data", environment, "--day") as url:
        yield url


def follow(request: Mapping[str, Any]) -> Answer | str:
    """Answer as a good model: book if asked to, and call a person if asked to."""
    asked = [each["content"] for each in request["messages"] if each["role"] == "user"]
    newest = str(asked[-1]) if asked else ""
    offered = {each["function"]["name"] for each in request.get("tools") or ()}
    if request["messages"][-1]["role"] == "tool":
        return "[silence]"
    if TOOL in offered and "book a table" in newest.rpartition("\n")[2].lower():
        return Answer(tool_calls=[(TOOL, {"day": "Friday"})])
    if "ask_a_person" in offered and "a human" in newest.rpartition("\n")[2]:
        summary = {"reason": "They ask for a human", "summary": "A question about allergies."}
        return Answer(tool_calls=[("ask_a_person", summary)])
    return "We open at nine."


@dataclass
class Hand:
    """A hand that clicks on what is visible, and counts."""

    page: Page
    clicks: int = 0

    def click(self, found: Locator) -> None:
        expect(found).to_be_visible()
        found.click()
        self.clicks += 1

    def link(self, name: str) -> None:
        self.click(self.page.get_by_role("main").get_by_role("link", name=name, exact=True))

    def button(self, name: str, *, place: Locator | None = None) -> None:
        found = (place or self.page.get_by_role("main")).get_by_role(
            "button", name=name, exact=True
        )
        self.click(found)

    def choose(self, label: str, option: str) -> None:
        field = self.page.get_by_label(label, exact=True).filter(visible=True)
        field.select_option(label=option)
        self.clicks += 1

    def check(self, label: str, *, place: Locator | None = None) -> None:
        self.click((place or self.page).get_by_label(label))

    def menu(self, name: str) -> None:
        pages = self.page.get_by_role("navigation", name="Pages")
        self.click(pages.get_by_role("link", name=name, exact=True))
        expect(self.page.locator(".page[aria-busy]")).to_have_count(0)

    def write(self, label: str, text: str) -> None:
        self.page.get_by_label(label, exact=True).filter(visible=True).fill(text)


@pytest.mark.timeout(580)
def test_first_hour_leads_to_an_agent_of_ones_own_by_clicks_alone(
    driver: Driver, model: ScriptedOpenAI, bookings: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model.default = follow
    hand = Hand(driver.page)
    driver.open()
    for step in STEPS:
        before = hand.clicks
        step(hand, bookings)
        say(capsys, f"{step.__name__.replace('_', ' ')}: {hand.clicks - before} clicks")
    say(capsys, f"the first hour: {hand.clicks} clicks")
    assert hand.clicks <= MOST_CLICKS
    assert Bookings.taken == [{"day": "Friday"}]


def make_an_agent(hand: Hand, _: str) -> None:
    expect(hand.page.get_by_role("button", name="Start", exact=True)).to_be_visible(timeout=SLOW_MS)
    hand.menu("Agents")
    hand.button("Sign in")
    hand.click(hand.page.get_by_role("button", name="Operator").first)
    hand.choose("Template", "Receptionist")
    hand.write("Name", AGENT)
    hand.write("Phone number (optional)", LINE)
    hand.button("Create agent")


def write_to_it(hand: Hand, _: str) -> None:
    hand.link("Send an SMS")
    hand.write("Your SMS", "Hello, I'm Ann. When do you open?")
    hand.button("Send")
    expect(hand.page.locator(".bubble.theirs").last).to_contain_text("at nine", timeout=SLOW_MS)


def make_a_plan(hand: Hand, _: str) -> None:
    page = hand.page
    hand.menu("Agents")
    hand.link(AGENT)
    hand.link("Plans")
    hand.write("Name", "Reminder")
    hand.write("Instruction", "Remind them of their appointment.")
    hand.write("Reason (for a person or a private chat)", "Setting up the new agent")
    hand.write("Delay", "2 hours")
    hand.button("Create")
    expect(page.locator(".timeline")).to_contain_text("Remind them of their appointment.")


def make_a_tool(hand: Hand, url: str) -> None:
    page = hand.page
    hand.menu("Tools")
    hand.write("Name", TOOL)
    hand.write("Address", url)
    hand.choose("Method", "POST")
    hand.write("What the model reads about it", "Book a table for a day.")
    hand.write("Arguments, as JSON Schema", json.dumps(PARAMETERS))
    hand.choose("Who must agree", "An operator is asked before each call.")
    hand.choose("What it may learn", "Private content, since it returns data to its readers only")
    hand.button("Create the tool")
    expect(page.get_by_text("shown only once")).to_be_visible()
    tool = page.locator(".tool", has_text=TOOL)
    hand.click(tool.get_by_text("Agents that can call it"))
    hand.check(AGENT, place=tool)
    hand.button("Save", place=tool)
    expect(tool).to_contain_text("Saved.")


def open_a_group(hand: Hand, _: str) -> None:
    page = hand.page
    hand.menu("Phone")
    hand.link("App")
    hand.button(f"List {AGENT}")
    expect(page.get_by_role("button", name=f"List {AGENT}")).to_have_count(0)
    hand.click(page.get_by_text("New chat or group"))
    form = page.get_by_role("main").locator("form", has_text="People to invite")
    hand.check(AGENT, place=form)
    hand.check("Coach", place=form)
    hand.write("Title (optional)", "Our table")
    hand.button("Create chat")
    expect(page.get_by_label("Chat", exact=True)).to_contain_text("Our table")


def approve(hand: Hand, _: str) -> None:
    page = hand.page
    hand.choose("Chat", AGENT)
    hand.write("Your message", "Please book a table for Friday")
    hand.button("Send")
    expect(page.get_by_role("navigation").locator(".badge:visible")).to_be_visible(timeout=SLOW_MS)
    hand.menu("Desk")
    hand.click(page.get_by_role("region", name="Calls to approve").get_by_role("link", name=TOOL))
    page.get_by_label("Why do you need to read this call?").fill("I approve this booking")
    hand.button("Show private content")
    hand.button("Approve")
    expect(page.get_by_text("makes exactly this call now")).to_be_visible()


def help_at_the_desk(hand: Hand, _: str) -> None:
    page = hand.page
    hand.menu("Phone")
    hand.link("App")
    hand.choose("Chat", AGENT)
    hand.write("Your message", "I want to talk to a human")
    hand.button("Send")
    expect(page.get_by_role("navigation").locator(".badge:visible")).to_be_visible(timeout=SLOW_MS)
    hand.menu("Desk")
    hand.click(page.get_by_role("region", name="Chats on the desk").get_by_role("link"))
    hand.button("Read the chat")
    expect(page.locator(".bubble").last).to_be_visible()
    hand.button("Take over")
    hand.write("Reply as the team", "Hello Ann, how can I help?")
    hand.button("Send")
    expect(page.locator(".bubble").last).to_contain_text("how can I help")
    hand.button("Hand back")
    expect(page.get_by_role("status").first).to_have_text("You handed the chat back.")


STEPS = (
    make_an_agent,
    write_to_it,
    make_a_plan,
    make_a_tool,
    open_a_group,
    approve,
    help_at_the_desk,
)


def say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Print a line, whether the test passes or fails."""
    with capsys.disabled():
        sys.stdout.write(f"\n{text}")
