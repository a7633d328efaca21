"""What a person does at the console, and a stack with something to see."""

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, ViewportSize, expect

from tests.e2e.client import Client

CHATS, AGENTS = 1_000, 100
THREADS = 4
# Names and texts that would run, load or break something if any page took them for markup.
HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script>\"'><a href=javascript:alert(3)>x</a>"
)
OPERATOR = "operator"
# The first page of a tab finds the token that a local stack keeps for a tab that is loaded again.
HOLD_TOKEN = """
if (location.protocol === "http:" && sessionStorage.getItem("held") === null) {
  sessionStorage.setItem("held", "once");
  const kept = { ...JSON.parse(%s), until: Date.now() + 3_600_000 };
  sessionStorage.setItem("skein-local-session", JSON.stringify(kept));
}
"""
NARROW: ViewportSize = {"width": 320, "height": 640}
# The browser itself reports each answer of 4xx or 5xx.
EXPECTED = re.compile(r"Failed to load resource|WebSocket connection .* failed")


def fill_stack(client: Client) -> None:
    """Create 100 agents, and 1,000 chats of the operator."""
    token = client.token(OPERATOR, "chat admin")

    def create(path: str, body: object) -> Any:
        return client.ok("POST", path, body, token=token)

    with ThreadPoolExecutor(THREADS) as pool:
        agents = list(
            pool.map(
                lambda n: create("/v1/agents", {"name": f"Agent {n}", "reply_mode": "text"}),
                range(AGENTS - 1),
            )
        )
        members = [{"kind": "agent", "id": agents[0]["id"]}]
        list(
            pool.map(
                lambda n: create(
                    "/v1/chats",
                    {
                        "kind": "group",
                        "title": f"Chat {n}",
                        "respond": "manual",
                        "members": members,
                    },
                ),
                range(CHATS),
            )
        )


@dataclass
class Driver:
    """A person at the console.

    Attributes:
        page: The tab.
        client: The stack.
        errors: What the browser reported as errors, apart from failed requests.
    """

    page: Page
    client: Client
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))
        self.page.on("console", self._said)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not EXPECTED.search(message.text):
            self.errors.append(message.text)

    def open(self, place: str = "") -> None:
        """Open a page of the console, and wait until it is there."""
        self.page.goto(f"{self.client.url}/console/{place}")
        self.ready()

    def ready(self) -> None:
        """Wait until the page has shown itself."""
        expect(self.page.locator("main h1")).to_be_visible()
        expect(self.page.locator(".page[aria-busy]")).to_have_count(0)

    def open_as_operator(
        self, place: str, *, scope: str = "chat admin", tenant: str = "demo"
    ) -> None:
        """Open a page in a tab that holds an operator's token, as after a sign-in."""
        wanted = {"sub": OPERATOR, "name": "Operator", "scope": scope, "tenant": tenant}
        token = self.client.ok("POST", "/local/token", wanted)["token"]
        self.page.add_init_script(HOLD_TOKEN % json.dumps(json.dumps({"token": token})))
        self.open(place)

    def sign_in(self, place: str, person: str = "Operator") -> None:
        """Open a page that needs a token, and sign in with one click."""
        self.open(place)
        self.sign_in_again(person)

    def sign_in_again(self, person: str = "Operator") -> None:
        """Sign in with one click, and return to the same page."""
        page = self.page
        known = page.get_by_role("button", name="Sign out", include_hidden=True)
        asked = page.locator("main").get_by_role("button", name="Sign in")
        expect(known.or_(asked).first).to_be_attached()
        if known.count() > 0:  # the tab has kept the token of the local stack
            self.ready()
            return
        asked.click()
        self.page.locator(".choices button").filter(has_text=person).first.click()
        # A narrow window has it in the folded menu.
        out = self.page.get_by_role("button", name="Sign out", include_hidden=True)
        expect(out).to_be_attached()
        self.ready()

    def go(self, name: str) -> None:
        """Follow a link of the navigation."""
        links = self.page.get_by_role("navigation", name="Pages")
        links.get_by_role("link", name=name, exact=True).click()
        self.ready()

    def send(self, text: str) -> None:
        """Write a message and send it with the Enter key."""
        self.page.locator(".composer textarea").fill(text)
        self.page.keyboard.press("Enter")

    def check_accessibility(self, *rules: str) -> None:
        """Check the page with axe-core, which must find nothing; all its rules if none is named."""
        options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
        # Half a megabyte of code: a page that has it already is not given it again.
        loaded = self.page.evaluate("'axe' in window")
        results = Axe("0" if loaded else AXE_SCRIPT).run(self.page, options=options).response
        found = [
            f"{each['id']}: {node['html'][:200]}"
            for each in results["violations"]
            for node in each["nodes"]
        ]
        assert found == [], str(found)

    def check_width(self) -> None:
        """Check that nothing is wider than the window."""
        script = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert self.page.evaluate(script)

    def check_looks(self) -> None:
        """Check the page as it is now, in both themes and in a window of 320 pixels."""
        self.page.emulate_media(color_scheme="light")
        self.check_accessibility()
        self.page.emulate_media(color_scheme="dark")
        self.check_accessibility("color-contrast")  # a theme changes nothing but colours
        before = self.page.viewport_size
        self.page.set_viewport_size(NARROW)
        self.check_width()
        self.check_accessibility()
        if before is not None:
            self.page.set_viewport_size(before)

    def check_inert(self) -> None:
        """Check that the page took no text for markup."""
        assert self.page.locator("main script, main img, main iframe").count() == 0
        assert self.page.locator("main a:not([href^='#'])").count() == 0

    def give_reason(self, reason: str = "The complaint 4711") -> None:
        """Give a reason to see private content."""
        asked = self.page.get_by_label("Why do you need to read")
        asked.fill(reason)
        asked.press("Enter")
        asked.wait_for(state="hidden")

    def operator(self) -> str:
        """A token of the operator."""
        return self.client.token(OPERATOR, "chat admin")


def answered_chat(
    client: Client,
    texts: Sequence[str],
    *,
    agent: Mapping[str, object] | None = None,
    person: str = OPERATOR,
) -> tuple[str, str]:
    """Have an agent answer messages in a new chat of a person.

    Returns:
        The ids of the chat and of the agent.
    """
    token = client.token(OPERATOR, "chat admin")
    made = client.ok(
        "POST", "/v1/agents", {"reply_mode": "text", "name": "Coach", **(agent or {})}, token=token
    )
    own = client.token(person, "chat admin")
    body = {"kind": "direct", "members": [{"kind": "agent", "id": made["id"]}]}
    chat = client.ok("POST", "/v1/chats", body, token=own)["id"]
    for text in texts:
        message = {"text": text, "client_id": uuid4().hex}
        client.ok("POST", f"/v1/chats/{chat}/messages", message, token=own)
        client.ok("POST", "/local/drain")
    return chat, made["id"]
