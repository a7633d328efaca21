"""The six main tasks by key presses alone, with a focus that is always visible."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.console.conftest import stack
from tests.console.driver import Driver, answered_chat
from tests.support.own_tools import BOOK
from tests.support.scripted_openai import Answer, ScriptedOpenAI

MOST_TABS = 150
SLOW_MS = 60_000
REASON = "The complaint 4711"
OUTLINE = """element => element === document.activeElement
  ? getComputedStyle(element).outlineStyle : null"""


@pytest.fixture(scope="module")
def _url(_model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stack that no other test has filled."""
    with stack(_model, tmp_path_factory.mktemp("keyboard")) as url:
        yield url


@dataclass
class Keyboard:
    """A person without a mouse."""

    driver: Driver

    def press(self, key: str) -> None:
        self.driver.page.keyboard.press(key)

    def write(self, text: str) -> None:
        self.driver.page.keyboard.type(text)

    def reach(self, wanted: Locator, *, back: bool = False) -> None:
        """Press Tab until something has the focus, which must be visible."""
        expect(wanted).to_be_visible()
        for _ in range(MOST_TABS):
            outline = wanted.evaluate(OUTLINE)
            if outline is not None:
                assert outline != "none"
                return
            self.press("Shift+Tab" if back else "Tab")
        raise AssertionError(f"{MOST_TABS} presses of Tab do not reach {wanted}")

    def use(self, wanted: Locator, *, back: bool = False) -> None:
        self.reach(wanted, back=back)
        self.press("Enter")

    def fill(self, label: str, text: str) -> None:
        self.reach(self.driver.page.get_by_label(label, exact=True).filter(visible=True))
        self.write(text)

    def button(self, name: str) -> None:
        main = self.driver.page.get_by_role("main")
        self.use(main.get_by_role("button", name=name, exact=True))

    def menu(self, name: str) -> None:
        pages = self.driver.page.get_by_role("navigation", name="Pages")
        self.use(pages.get_by_role("link", name=name, exact=True), back=True)
        self.driver.ready()


@pytest.fixture
def keys(driver: Driver) -> Keyboard:
    """An operator who has signed in by keys, at the page Home."""
    keys, page = Keyboard(driver), driver.page
    driver.open()
    keys.menu("Home")
    keys.button("Sign in")
    keys.use(page.locator(".choices button").filter(has_text="Operator").first)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    driver.ready()
    return keys


def made(driver: Driver, name: str, **fields: Any) -> None:
    body = {"name": name, "reply_mode": "text", **fields}
    driver.client.ok("POST", "/v1/agents", body, token=driver.operator())


def test_agent_is_made_by_keys(keys: Keyboard) -> None:
    keys.menu("Agents")
    keys.fill("Name", "Nils")
    keys.fill("What the agent does", "You are Nils. Be brief.")
    keys.button("Create agent")
    expect(keys.driver.page.get_by_role("status").filter(has_text="Nils is ready.")).to_be_visible()


def test_agent_is_given_a_line_by_keys(keys: Keyboard) -> None:
    made(keys.driver, "Lina")
    page = keys.driver.page
    keys.menu("Agents")
    keys.use(page.get_by_role("link", name="Lina", exact=True))
    keys.use(page.get_by_text("Phone numbers", exact=True).last)
    keys.fill("Phone number", "+15005550041")
    keys.press("Enter")
    expect(page.locator(".agent-head .facts")).to_contain_text("+15005550041")


def test_agent_is_talked_to_by_keys(keys: Keyboard) -> None:
    made(keys.driver, "Tilo")
    page = keys.driver.page
    keys.menu("Agents")
    keys.use(page.get_by_role("link", name="Tilo", exact=True))
    keys.button("Talk to it")
    keys.fill("Your message", "What is a good exercise?")
    keys.press("Enter")
    expect(page.locator(".bubble.theirs")).to_contain_text("Try the plank", timeout=SLOW_MS)


def test_reason_of_an_answer_is_read_by_keys(keys: Keyboard) -> None:
    answered_chat(keys.driver.client, ["What is a good exercise?"], agent={"name": "Wim"})
    page = keys.driver.page
    keys.menu("Chats")
    keys.use(page.get_by_role("region", name="Your chats").get_by_role("link", name="Wim"))
    keys.use(page.get_by_role("link", name="Why did Wim say this?"))
    keys.fill("Why do you need to read this private run?", REASON)
    keys.press("Enter")
    expect(page.locator(".section").first).to_be_visible()


def test_case_at_the_desk_is_answered_by_keys(keys: Keyboard) -> None:
    client, page = keys.driver.client, keys.driver.page
    chat, _ = answered_chat(client, ["Hello"], person="key-ann")
    path = f"/v1/chats/{chat}/desk?reason=The+complaint+4711"
    client.ok("POST", path, {}, token=keys.driver.operator())
    client.drain()
    keys.menu("Desk")
    keys.press("j")
    keys.reach(page.locator(f'a[href="#/desk/{chat}"]'))
    keys.press("Enter")
    expect(page.get_by_label("Why do you need to read this chat?")).to_be_focused()
    keys.press("Enter")
    expect(page.locator(".bubble").first).to_be_visible()
    expect(page.locator("h1")).to_be_focused()
    keys.press("t")
    expect(page.get_by_label("Reply as the team")).to_be_focused()
    keys.write("How can I help?")
    keys.press("Enter")
    expect(page.locator(".bubble").last).to_contain_text("How can I help?")
    keys.press("Escape")
    keys.press("h")
    expect(page.get_by_role("status").first).to_have_text("You handed the chat back.")


def test_call_is_approved_by_keys(keys: Keyboard, idle_model: ScriptedOpenAI) -> None:
    client, page = keys.driver.client, keys.driver.page
    tool = BOOK | {"name": "key_booking", "approval": "operator"}
    client.ok("POST", "/v1/tools", tool, token=keys.driver.operator())
    idle_model.then(Answer(tool_calls=[("key_booking", {"day": "Friday"})]))
    answered_chat(client, ["A table"], agent={"enabled_tools": ["key_booking"]}, person="key-tom")
    keys.menu("Desk")
    keys.use(page.get_by_role("link", name="key_booking"))
    keys.fill("Why do you need to read this call?", REASON)
    keys.press("Enter")
    keys.button("Approve")
    expect(page.get_by_text("makes exactly this call now")).to_be_visible()
