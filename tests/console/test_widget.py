"""The web chat on pages of another origin, with the stack behind it."""

import hashlib
import re
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, ViewportSize, expect

from tests.console.driver import HOSTILE, NARROW, OPERATOR, Driver
from tests.e2e.client import Client
from tests.support.scripted_openai import Answer, ScriptedOpenAI
from tools import widget

# The strictest policy under which the chat works: nothing else may run, load or be called.
POLICY = (
    "default-src 'none'; script-src {url}/widget/; connect-src {url} ws://127.0.0.1:*; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<title>Shop</title><main><h1>Shop</h1><button id="buy">Buy</button></main>
<skein-chat widget="{widget}" {attributes}></skein-chat>
<script async src="{url}/widget/v1.js"></script></html>"""
# Playwright and axe-core see open shadow roots only.
OPEN_ROOTS = """const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (given) {
  this.dataset.mode = given.mode;
  return attach.call(this, { ...given, mode: "open" });
};
addEventListener("DOMContentLoaded", () => {
  window.told = [];
  for (const name of ["open", "close", "message", "error"]) {
    document.addEventListener(`skein-${name}`, ({ detail }) => told.push([name, detail]));
  }
});"""
HOSTILE_STYLE = """<style>
* { display: none !important; all: unset !important; color: red !important }
skein-chat { position: static !important; opacity: 0 !important; font-size: 90px !important }
</style>"""
SPOIL = """() => {
  const key = Object.keys(localStorage).find((each) => each.endsWith("visit"));
  const spent = { ...JSON.parse(localStorage[key]), token: "spent", renewal: "spent" };
  localStorage[key] = JSON.stringify(spent);
}"""
# A browser without a window has no keyboard, so this says what one would say of it.
KEYBOARD = """([event, offsetTop, height]) => {
  for (const [name, value] of Object.entries({ offsetTop, height })) {
    Object.defineProperty(visualViewport, name, { value, configurable: true });
  }
  visualViewport.dispatchEvent(new Event(event));
}"""
# The names of all animations and the properties of all transitions in the chat.
MOVING = """() => {
  const all = [...document.querySelector("skein-chat").shadowRoot.querySelectorAll("*")];
  const styles = all.flatMap((each) =>
    ["", "::before", "::after"].map((part) => getComputedStyle(each, part)));
  const moving = styles.flatMap((style) => [
    style.animationName === "none" ? "" : style.animationName,
    style.transitionDuration === "0s" ? "" : style.transitionProperty,
    style.scrollBehavior === "auto" ? "" : style.scrollBehavior,
  ]);
  return [...new Set(moving.filter((each) => each !== ""))].sort();
}"""
ZOOMED: ViewportSize = {"width": 640, "height": 360}  # 1280 pixels at 200 %
FULL = {
    "greeting": "Hello! How can we help?",
    "starters": ["When are you open?"],
    "theme": {"color": "#0a6"},
}
CONSENT = {"text": "We keep your words for 30 days.", "url": "https://shop.example/privacy"}


class Site:
    """A web site on another port of this machine, with one page."""

    page, policy = "", ""

    def __init__(self) -> None:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                if site.policy:
                    self.send_header("content-security-policy", site.policy)
                self.end_headers()
                self.wfile.write(site.page.encode())

            def log_message(self, *_given: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


@dataclass
class Shop:
    """A visitor at a page of another origin than the API's.

    Attributes:
        calls: The calls of the API, as method and path.
    """

    page: Page
    client: Client
    site: "Site"
    widget: str = ""
    calls: list[str] = field(default_factory=list)

    def make(self, **fields: Any) -> None:
        """Have an operator create a widget, and an agent for it."""
        token = self.client.token(OPERATOR, "chat admin")
        agent = {"name": "Coach", "reply_mode": "text", "listed": True}
        made = self.client.ok("POST", "/v1/agents", agent, token=token)
        ways = [{"label": "Call us", "url": "tel:+15005550006"}]
        public = {"name": "Lake Club", "ways": ways}
        body = {"agent_id": made["id"], "origins": [self.site.origin], "public": public, **fields}
        self.widget = self.client.ok("POST", "/v1/widgets", body, token=token)["id"]

    def visit(
        self,
        page: Page | None = None,
        *,
        attributes: str = "",
        head: str = "",
        milliseconds: float | None = None,
    ) -> Page:
        """Open the page; a page with other styles has no policy."""
        page = page or self.page
        url = self.client.url
        self.site.page = PAGE.format(widget=self.widget, attributes=attributes, url=url) + head
        self.site.policy = "" if head else POLICY.format(url=url)
        page.on("request", lambda sent: self._noted(sent.method, sent.url))
        page.goto(self.site.origin)
        expect(launcher(page)).to_be_attached(timeout=milliseconds)
        return page

    def _noted(self, method: str, url: str) -> None:
        if "/v1/" in url:
            self.calls.append(f"{method} {url.removeprefix(self.client.url).partition('?')[0]}")

    def open(self, page: Page | None = None, **given: Any) -> Page:
        page = self.visit(page, **given)
        launcher(page).click()
        expect(page.get_by_role("dialog", name="Lake Club")).to_be_visible()
        return page


def launcher(page: Page) -> Locator:
    return page.locator("skein-chat .launcher")


def text_field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Write a message")


def write(page: Page, text: str) -> None:
    text_field(page).fill(text)
    text_field(page).press("Enter")


def mine(page: Page) -> Locator:
    return page.locator("li.mine .bubble")


def theirs(page: Page) -> Locator:
    return page.locator("li:not(.mine) .bubble")


def kept(page: Page) -> int:
    return int(page.evaluate("localStorage.length + sessionStorage.length"))


def choose(page: Page, action: str) -> None:
    """Choose from the menu, and confirm."""
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name=action).click()
    page.get_by_role("button", name=action).click()


def check_accessibility(page: Page) -> None:
    """Check the page with axe-core, in both themes, which must find nothing."""
    driver = Driver(page, Client(""))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="light" if scheme == "light" else "dark")
        driver.check_accessibility()


@pytest.fixture
def shop(context: BrowserContext, client: Client, idle_model: ScriptedOpenAI) -> Iterator[Shop]:
    context.add_init_script(OPEN_ROOTS)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    site = Site()
    yield Shop(page, client, site)
    site.server.shutdown()
    site.server.server_close()
    assert [each for each in errors if not re.search("Failed to (load|find)|WebSocket", each)] == []


def test_loading_costs_the_file_and_opening_one_call(shop: Shop) -> None:
    shop.make(**FULL)
    page = shop.visit()
    expect(launcher(page)).to_be_visible()
    assert shop.calls == []
    assert page.evaluate("document.querySelector('skein-chat').dataset.mode") == "closed"
    launcher(page).click()
    expect(theirs(page)).to_have_text("Hello! How can we help?")
    assert shop.calls == [f"GET /v1/widgets/{shop.widget}/public"]
    assert kept(page) == 0
    assert page.context.cookies() == []


def test_page_can_pin_a_version_by_its_hash(shop: Shop) -> None:
    shop.make()
    digest = hashlib.sha384(widget.BUILT.read_bytes()).digest()
    path = f"/widget/{widget.VERSION}/chat.js"
    for integrity, count in ((b64encode(digest).decode(), 1), (b64encode(b"0" * 48).decode(), 0)):
        hashed = f'integrity="sha384-{integrity}" crossorigin="anonymous"'
        shop.site.policy = ""
        shop.site.page = (
            f'<skein-chat widget="{shop.widget}"></skein-chat>'
            f'<script src="{shop.client.url}{path}" {hashed}></script>'
        )
        shop.page.goto(shop.site.origin)
        shop.page.wait_for_timeout(300)
        expect(launcher(shop.page)).to_have_count(count)


def test_element_is_defined_once_the_page_is_idle(shop: Shop) -> None:
    shop.page.add_init_script("window.requestIdleCallback = (work) => { window.idle = work; };")
    shop.make()
    with pytest.raises(AssertionError):
        shop.visit(milliseconds=500)
    shop.page.evaluate("idle()")
    expect(launcher(shop.page)).to_be_visible()
    assert shop.calls == []


def test_answer_is_streamed_and_announced_once_as_a_whole(
    shop: Shop, model: ScriptedOpenAI
) -> None:
    words = "We open at **nine**. [Map](https://shop.example/map) [x](javascript:alert(1))"

    model.then(Answer(f"{words} {HOSTILE}", pause=0.3))
    shop.make(**FULL)
    page = shop.open()
    page.get_by_role("button", name="When are you open?").click()
    expect(mine(page)).to_have_text("When are you open?")
    expect(page.get_by_text("Coach is writing")).to_be_visible()
    announced = page.locator("[aria-live]")
    assert announced.inner_text() == ""
    expect(theirs(page).locator("strong")).to_have_text("nine")
    expect(announced.locator("> p")).to_have_count(1)
    expect(announced).to_contain_text("Coach: We open at nine.")
    links = theirs(page).last.locator("a")
    assert [link.get_attribute("href") for link in links.all()] == ["https://shop.example/map"]
    assert page.locator("skein-chat").locator("img, script, iframe").count() == 0
    told = page.evaluate("told")
    assert [name for name, _ in told] == ["open", "message"]
    assert told[1][1].keys() == {"seq", "from"}
    check_accessibility(page)


def test_retracted_words_disappear(shop: Shop, model: ScriptedOpenAI) -> None:
    model.then(Answer("Half of an answer that ends too soon", pause=0.4, breaks_off=True))
    model.then(Answer("The whole answer."))
    shop.make()
    page = shop.open()
    write(page, "Hi")
    expect(page.get_by_text("Half of")).to_be_visible()
    expect(page.get_by_text("Half of")).to_have_count(0)
    expect(theirs(page)).to_have_text("The whole answer.")


def test_question_has_buttons_and_the_team_has_its_name(shop: Shop, model: ScriptedOpenAI) -> None:
    question = {"question": "Which day?", "options": ["Monday", "Tuesday"]}
    model.call_tools(("ask_choice", question)).say("Monday it is.")
    shop.make()
    page = shop.open()
    write(page, "I want to come")
    page.get_by_role("group", name="Which day?").get_by_role("button", name="Monday").click()
    expect(page.get_by_text("Answered: Monday")).to_be_visible()
    expect(text_field(page)).to_be_focused()
    expect(theirs(page).last).to_have_text("Monday it is.")

    chat = re.search(r"chat_\w+", " ".join(shop.calls))
    assert chat is not None
    path, token = f"/v1/chats/{chat[0]}/desk", shop.client.token(OPERATOR, "chat admin")
    held = {"holder": "me", "name": "Mia"}
    shop.client.ok("PUT", f"{path}?reason=Support+case+4711", held, token=token)
    message = {"text": "Mia here.", "client_id": uuid4().hex}
    shop.client.ok("POST", f"{path}/messages", message, token=token)
    expect(page.locator("li", has_text="Mia (Team)").get_by_text("Mia here.")).to_be_visible()
    check_accessibility(page)


def test_answer_names_its_sources(shop: Shop, model: ScriptedOpenAI) -> None:
    shop.make()
    token = shop.client.token(OPERATOR, "chat admin")
    text = "# Hours\n\nThe shop opens at nine."
    source = {"name": "Hours", "text": text, "audience": "public"}
    made = shop.client.ok("POST", "/v1/sources", source, token=token)
    shop.client.ok("POST", "/local/drain", token=token)
    model.say("We open at nine. [K1]")
    page = shop.open()
    write(page, "When does the shop open?")
    expect(theirs(page)).to_contain_text("We open at nine.")
    expect(page.get_by_text("Sources")).to_be_visible()
    expect(theirs(page).get_by_role("listitem")).to_have_text("Hours")
    check_accessibility(page)
    shop.client.ok("DELETE", f"/v1/sources/{made['id']}", token=token)


def test_reload_in_the_middle_of_an_answer_keeps_the_chat(
    shop: Shop, model: ScriptedOpenAI, browser: Browser
) -> None:
    model.then(Answer("A long answer with many words", pause=0.5))
    shop.make()
    page = shop.open()
    write(page, "Hi")
    expect(page.get_by_text("Coach is writing")).to_be_visible()
    page.reload()
    launcher(page).click()
    expect(mine(page)).to_have_text("Hi")
    expect(theirs(page)).to_have_text("A long answer with many words")
    with browser.new_context() as other:  # another visitor sees nothing of it
        other.add_init_script(OPEN_ROOTS)
        page = shop.open(other.new_page())
        expect(text_field(page)).to_be_focused()
        assert mine(page).count() == theirs(page).count() == 0


def test_expired_token_is_renewed_for_the_same_chat(shop: Shop) -> None:
    shop.make()
    page = shop.open()
    write(page, "One")
    expect(theirs(page)).to_have_count(1)
    shop.client.ok("POST", "/local/clock", {"advance_seconds": 4_000})
    write(page, "Two")
    expect(theirs(page)).to_have_count(2)
    expect(mine(page)).to_have_text(["One", "Two"])
    assert sum(call.endswith("/visits") for call in shop.calls) == 2
    assert len({call for call in shop.calls if call.startswith("POST /v1/chats/")}) == 2


def test_two_tabs_share_a_visit_and_offline_messages_are_sent_once(
    shop: Shop, context: BrowserContext
) -> None:
    shop.make()
    tabs = [shop.open(), shop.open(context.new_page())]
    write(tabs[0], "One")
    for tab in tabs:
        expect(mine(tab)).to_have_text(["One"])
    write(tabs[1], "Two")
    for tab in tabs:
        expect(mine(tab)).to_have_text(["One", "Two"])
        expect(tab.get_by_text("Sending")).to_have_count(0)
        expect(theirs(tab).last).to_be_visible()
    context.set_offline(True)
    write(tabs[0], "Three")
    write(tabs[1], "Four")
    for tab in tabs:
        expect(tab.get_by_text("Waits to be sent")).to_have_count(2)
        expect(tab.get_by_text("You are offline").last).to_be_visible()
    check_accessibility(tabs[0])
    context.set_offline(False)
    for tab in tabs:
        expect(tab.get_by_text("Waits to be sent")).to_have_count(0)
        expect(mine(tab)).to_have_text(["One", "Two", "Three", "Four"])
        tab.reload()
        launcher(tab).click()
        expect(mine(tab)).to_have_text(["One", "Two", "Three", "Four"])
    assert sum(call.endswith("/visits") for call in shop.calls) == 1

    choose(tabs[0], "End and forget")
    for tab in tabs:
        expect(tab.get_by_text("was removed from this device").last).to_be_visible()
        assert (mine(tab).count(), kept(tab)) == (0, 0)
    tabs[0].get_by_role("button", name="Start a new chat").click()
    expect(text_field(tabs[0])).to_be_focused()


def test_consent_is_asked_before_the_first_message(shop: Shop) -> None:
    shop.make(**FULL, consent=CONSENT)
    page = shop.open()
    expect(page.get_by_text("We keep your words")).to_be_visible()
    expect(page.get_by_role("button", name="I agree")).to_be_focused()
    expect(text_field(page)).to_have_count(0)
    check_accessibility(page)
    page.keyboard.press("Enter")
    expect(text_field(page)).to_be_focused()
    assert kept(page) == 0
    write(page, "Hi")
    expect(theirs(page)).to_have_count(2)

    # Another text is another version, which is asked for again.
    token, path = shop.client.token(OPERATOR, "chat admin"), f"/v1/widgets/{shop.widget}"
    change = {"consent": {**CONSENT, "text": "We keep your words for 10 days."}}
    shop.client.ok("PATCH", path, change, token=token)
    page.reload()
    launcher(page).click()
    expect(page.get_by_text("for 10 days")).to_be_visible()
    page.get_by_role("button", name="I agree").click()
    expect(mine(page)).to_have_text("Hi")


def test_deleting_the_chat_erases_it_and_says_when_it_is_done(shop: Shop) -> None:
    shop.make()
    page = shop.open()
    write(page, "Hi")
    expect(theirs(page)).to_have_count(1)
    choose(page, "Delete this chat")
    expect(page.get_by_text("is being deleted").last).to_be_visible()
    assert mine(page).count() == theirs(page).count() == 0
    check_accessibility(page)
    shop.client.ok("POST", "/local/clock", {"advance_seconds": 1_200})
    expect(page.get_by_text("This chat was deleted.").last).to_be_visible(timeout=30_000)
    assert kept(page) == 0
    page.get_by_role("button", name="Start a new chat").click()
    write(page, "Hello again")
    expect(mine(page)).to_have_text("Hello again")


def test_each_refusal_is_said_in_words(shop: Shop, context: BrowserContext) -> None:
    shop.make()
    known, shop.widget = shop.widget, "wgt_0"
    page = shop.visit()
    launcher(page).click()
    expect(page.get_by_text("This chat is not available.").last).to_be_visible()
    check_accessibility(page)
    shop.make(origins=["https://elsewhere.example"])
    shop.visit()
    launcher(page).click()
    expect(page.get_by_text("not set up for this web site").last).to_be_visible()

    shop.widget = known
    shop.open()
    write(page, "Hi")
    expect(theirs(page)).to_have_count(1)
    token, path = shop.client.token(OPERATOR, "chat admin"), f"/v1/widgets/{shop.widget}"
    limits = {"messages_per_day": 1}
    shop.client.ok("PATCH", path, {"limits": limits}, token=token)
    write(page, "More")
    way = page.get_by_role("link", name="Call us")
    expect(way).to_be_visible()
    assert way.get_attribute("href") == "tel:+15005550006"
    expect(page.get_by_text("Waits to be sent")).to_be_visible()
    check_accessibility(page)
    shop.client.ok("PATCH", path, {"limits": {}}, token=token)

    # A visit that has ended: its token is refused, and so is its renewal.
    page.evaluate(SPOIL)
    page.reload()
    launcher(page).click()
    expect(page.get_by_text("This chat has ended.").last).to_be_visible()
    check_accessibility(page)
    page.get_by_role("button", name="Start a new chat").click()
    expect(mine(page)).to_have_text(["More"])


def test_keyboard_alone_is_enough_and_the_focus_returns(shop: Shop) -> None:
    shop.make(**FULL)
    page = shop.visit()
    check_accessibility(page)
    page.locator("#buy").focus()
    page.keyboard.press("Tab")
    expect(launcher(page)).to_be_focused()
    page.keyboard.press("Enter")
    expect(text_field(page)).to_be_focused()
    page.keyboard.type("Hi")
    page.keyboard.press("Enter")
    expect(mine(page)).to_have_text("Hi")
    expect(theirs(page)).to_have_count(2)
    page.get_by_role("button", name="More").press("Enter")
    expect(page.get_by_role("button", name="End and forget")).to_be_focused()
    check_accessibility(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="More")).to_be_focused()
    page.keyboard.press("Escape")
    expect(launcher(page)).to_be_focused()
    page.locator("#buy").focus()
    page.evaluate("document.querySelector('skein-chat').open()")
    expect(text_field(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#buy")).to_be_focused()


def test_unread_answers_are_counted_on_the_button(shop: Shop, model: ScriptedOpenAI) -> None:
    model.then(Answer("Late", latency=1.5))
    shop.make()
    page = shop.open()
    write(page, "Hi")
    expect(mine(page)).to_have_text("Hi")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Open chat, 1 unread")).to_be_visible()
    check_accessibility(page)
    launcher(page).click()
    expect(theirs(page)).to_have_text("Late")
    expect(page.get_by_role("button", name="Close chat", exact=True).last).to_be_visible()


def test_styles_of_a_hostile_page_change_nothing(shop: Shop) -> None:
    shop.make(**FULL)
    page = shop.visit(head=HOSTILE_STYLE, attributes='dir="rtl" text-send="Invia" side="start"')
    launcher(page).click()
    panel = page.get_by_role("dialog")
    expect(panel.get_by_role("button", name="Invia")).to_be_visible()
    box = panel.bounding_box()
    assert box is not None
    assert box["width"] == pytest.approx(400, abs=1)
    assert box["x"] > 400  # `start` is on the right
    shown = "document.querySelector('skein-chat').shadowRoot.querySelector('.body')"
    style = page.evaluate(
        f"getComputedStyle({shown}).fontSize + getComputedStyle({shown}).direction"
    )
    assert style == "16pxrtl"


def test_chat_fits_a_phone_its_keyboard_and_a_zoom_of_200_percent(shop: Shop) -> None:
    shop.make(**FULL)
    page = shop.open()
    for size in (NARROW, ZOOMED):
        page.set_viewport_size(size)
        expect(page.get_by_role("dialog")).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("button", name="Send")).to_be_in_viewport(ratio=1)
        check_accessibility(page)
    page.set_viewport_size(NARROW)
    text_field(page).focus()
    # The keyboard covers the lower part of the window, and may push the page up.
    for event, top, height in (("resize", 0, 300), ("scroll", 120, 300)):
        page.evaluate(KEYBOARD, [event, top, height])
        dialog = page.get_by_role("dialog")
        expect(dialog).to_have_js_property("clientHeight", height)
        panel, field = dialog.bounding_box(), text_field(page).bounding_box()
        assert panel is not None
        assert field is not None
        assert panel["y"] == top
        assert top < field["y"] < field["y"] + field["height"] <= top + height
        expect(text_field(page)).to_be_focused()
    page.evaluate(KEYBOARD, ["resize", 0, NARROW["height"]])
    expect(page.get_by_role("dialog")).to_have_js_property("clientHeight", NARROW["height"])


def test_nothing_moves_for_people_who_ask_for_reduced_motion(
    shop: Shop, model: ScriptedOpenAI
) -> None:
    model.then(Answer("Late", latency=3))
    shop.make(**FULL)
    page = shop.open()
    write(page, "Hi")
    expect(page.get_by_text("Coach is working")).to_be_visible()
    assert page.evaluate(MOVING) == []
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOVING) == ["blink", "rise"]
    expect(theirs(page).last).to_have_text("Late")


def test_forced_colors_keep_edges_and_focus(shop: Shop, model: ScriptedOpenAI) -> None:
    model.say("We open at nine.")
    model.then(Answer("Late", latency=1.5))
    shop.make(**FULL)
    shop.page.emulate_media(forced_colors="active")
    page = shop.open()
    write(page, "Hi")
    expect(theirs(page)).to_have_count(2)
    panel = page.get_by_role("dialog")
    bubbles = [mine(page), theirs(page).first, theirs(page).last]
    for each in (panel, panel.get_by_role("heading").locator(".."), *bubbles):
        expect(each).to_have_css("border-bottom-width", "1px")
        expect(each).to_have_css("border-bottom-style", "solid")
    expect(mine(page)).to_have_css("background-color", "rgb(255, 255, 255)")  # not the theme's
    text_field(page).focus()
    expect(text_field(page)).to_have_css("outline-width", "3px")
    check_accessibility(page)
    write(page, "More")
    expect(mine(page)).to_have_count(2)
    page.keyboard.press("Escape")
    expect(launcher(page).locator(".badge")).to_have_css("border-bottom-width", "1px")


def test_known_person_has_their_own_chat_and_signing_out_clears_the_screen(shop: Shop) -> None:
    shop.make()
    token = shop.client.token("visits_as_herself", "chat")
    page = shop.visit()
    page.evaluate(
        "token => { document.querySelector('skein-chat').token = async () => token; }", token
    )
    launcher(page).click()
    write(page, "It is me")
    expect(theirs(page)).to_have_count(1)
    assert kept(page) == 0
    assert not any("visit" in call for call in shop.calls)
    chats = shop.client.ok("GET", "/v1/chats", token=token)["items"]
    assert [chat["last_message"]["sender"]["kind"] for chat in chats] == ["agent"]
    page.evaluate("document.querySelector('skein-chat').token = null")
    expect(text_field(page)).to_be_focused()
    assert mine(page).count() == theirs(page).count() == 0


def test_local_page_of_another_origin_has_the_chat(shop: Shop) -> None:
    page = shop.page
    page.goto(shop.client.url.replace("127.0.0.1", "localhost") + "/local/page")
    launcher(page).click()
    write(page, "Hi")
    expect(theirs(page)).to_have_text("Try the plank, three times a minute.")
