"""What holds for every page: access, width, themes, keyboard, scripts in content, and calls."""

import os
import re
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from local.template import ROOT
from tests.console.driver import HOSTILE, NARROW, OPERATOR, Driver, answered_chat
from tests.console.places import PLACES, Place
from tests.e2e.client import Client
from tests.support.scripted_openai import Answer, ScriptedOpenAI

IMAGES = ROOT / "docs" / "images"
LOOKED_AT = ROOT / ".cache" / "screenshots"  # of each page, for the eyes of who changes it
MOST_CALLS = 15  # of a page, until it is shown
CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]"
STOPS = 4  # at one control: a date has a day, a month, a year and a calendar
WIDE: ViewportSize = {"width": 1120, "height": 800}
PICTURES = (
    "phone-sms-light",
    "home-light",
    "chats-dark",
    "agent-light",
    "why-light",
    "usage-light",
    "settings-dark",
    "audit-light",
    "time-light",
    "people-light",
    "desk-light",
    "transcripts-light",
)  # of docs/console.md

API = re.compile(r"/v1/|/local/(due|day)")
every_page = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.address)


def test_each_page_of_the_console_has_a_place() -> None:
    pages = {path.stem for path in (ROOT / "console" / "pages").glob("*.js")}
    assert {place.name for place in PLACES} == pages


@every_page
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_has_no_accessibility_problem(driver: Driver, place: Place, theme: str) -> None:
    driver.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    place.open(driver)
    driver.check_accessibility()


@every_page
def test_page_fits_a_window_of_320_pixels(driver: Driver, place: Place) -> None:
    driver.page.set_viewport_size(NARROW)
    place.open(driver)
    driver.check_width()
    driver.check_accessibility()


@every_page
def test_page_is_reached_and_used_by_keyboard_alone(driver: Driver, place: Place) -> None:
    place.open(driver)
    page = driver.page
    skip = page.get_by_role("link", name="Skip to content")
    for _ in range(STOPS * page.locator(CONTROLS).count()):
        page.keyboard.press("Shift+Tab")
        if skip.evaluate("link => link === document.activeElement"):
            break
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    # The first control of the page comes next, with a visible focus.
    page.keyboard.press("Tab")
    focused = "document.querySelector('main').contains(document.activeElement)"
    assert page.evaluate(focused)
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style != "none"


@every_page
def test_page_shows_names_with_markup_as_text(driver: Driver, place: Place) -> None:
    make_hostile(driver.client)
    place.open(driver)
    driver.check_inert()
    # The fixture checks that no dialog was opened and no error reported.


@every_page
def test_page_shows_an_error_of_the_api_as_text(driver: Driver, place: Place) -> None:
    error = {"code": "internal", "detail": HOSTILE, "details": {}}
    place.open(driver)
    driver.page.evaluate("location.hash = '#/none'")
    expect(driver.page.get_by_role("alert")).to_contain_text("Page not found")
    driver.page.route(API, lambda route: route.fulfill(status=500, json=error))
    driver.page.evaluate(f"location.hash = '{place.address}'")
    expect(driver.page.get_by_role("alert")).to_contain_text(HOSTILE)
    driver.errors.clear()  # the console logs the error itself
    driver.page.unroute(API)
    driver.page.get_by_role("button", name="Try again").click()
    driver.ready()
    expect(driver.page.get_by_role("alert")).to_have_count(0)


@every_page
def test_page_with_a_thousand_chats_makes_a_few_calls(
    driver: Driver, place: Place, filled: None
) -> None:
    place.open(driver)
    driver.page.evaluate("location.hash = '#/none'")
    expect(driver.page.get_by_role("alert")).to_be_visible()
    called: list[str] = []
    driver.page.on("request", lambda request: called.append(request.url))
    driver.page.evaluate(f"location.hash = '{place.address}'")
    driver.page.wait_for_selector(f".page-{place.name}:not([aria-busy])")
    calls = [url for url in called if API.search(url)]
    assert len(calls) <= MOST_CALLS, calls


@pytest.mark.skipif("SKEIN_SCREENSHOTS" not in os.environ, reason="only `make screenshots` writes")
@pytest.mark.parametrize("picture", PICTURES)
def test_screenshot_of_the_page(
    browser: Browser, client: Client, model: ScriptedOpenAI, picture: str
) -> None:
    model.default = Answer("Try the plank, three times a minute.", usage=(400, 12), cached=300)
    name, _, theme = picture.rpartition("-")
    [place] = [each for each in PLACES if each.address[2:].replace("/", "-") == name]
    with browser.new_context(
        color_scheme="dark" if theme == "dark" else "light",
        viewport=WIDE,
        reduced_motion="reduce",
        locale="en-GB",
    ) as context:
        driver = Driver(context.new_page(), client)
        place.open(driver)
        fill_page(driver, place)
        driver.page.screenshot(path=IMAGES / f"console-{picture}.png")


@pytest.mark.skipif("SKEIN_SCREENSHOTS" not in os.environ, reason="only `make screenshots` writes")
@every_page
def test_screenshots_of_the_page_in_both_themes_and_two_widths(
    browser: Browser, client: Client, model: ScriptedOpenAI, place: Place
) -> None:
    model.default = Answer("Try the plank, three times a minute.", usage=(400, 12), cached=300)
    LOOKED_AT.mkdir(parents=True, exist_ok=True)
    name = place.address.removeprefix("#/").replace("/", "-")
    with browser.new_context(viewport=WIDE, reduced_motion="reduce", locale="en-GB") as context:
        driver = Driver(context.new_page(), client)
        place.open(driver)
        fill_page(driver, place)
        for theme, width in product(("light", "dark"), (1440, 390)):
            driver.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            driver.page.set_viewport_size({"width": width, "height": 900})
            driver.check_width()
            path = LOOKED_AT / f"{name}-{width}-{theme}.png"
            driver.page.screenshot(path=path, full_page=True)


def test_pictures_of_the_docs_are_those_that_are_written() -> None:
    assert {path.stem for path in IMAGES.glob("console-*.png")} == {
        f"console-{picture}" for picture in PICTURES
    }


def fill_page(driver: Driver, place: Place) -> None:
    """Do something on a page, so that its picture shows something."""
    page = driver.page
    if (
        place.name in {"home", "settings", "tour", "errands", "sharing", "tools"}
        or "answers" in place.address
    ):
        return
    if place.name in FILL:
        FILL[place.name](driver)
        driver.ready()
        return
    if place.name == "chats":
        page.get_by_text("New chat").click()
        page.get_by_role("group", name="Agents").get_by_label("Coach", exact=True).first.check()
        page.get_by_label("Title (optional)").fill("Morning run")
        page.get_by_role("button", name="Create chat").click()
    if page.locator(".bubble").count() == 0:
        driver.send("What is a good exercise for my back?")
    expect(page.locator(".bubble.theirs").first).to_be_visible(timeout=20_000)


def fill_audit(driver: Driver) -> None:
    """Show what an operator has read and changed."""
    driver.client.ok("PUT", "/v1/pauses/background", token=driver.operator())
    driver.client.ok("DELETE", "/v1/pauses/background", token=driver.operator())
    driver.go("Settings")
    driver.go("Audit")


def fill_why(driver: Driver) -> None:
    """Show the second of two runs, with a section open."""
    prompt = "You are Coach, a friendly fitness coach. Reply in one or two short sentences."
    texts = ("What is a good exercise for my back?", "And for my legs?")
    chat, _ = answered_chat(driver.client, texts, agent={"system_prompt": prompt})
    driver.page.evaluate(f"location.hash = '#/why/{chat}/4'")
    driver.give_reason()
    sections = driver.page.locator(".section")
    expect(sections.first).to_be_visible()
    driver.page.locator(".section summary").first.click()
    driver.page.evaluate(
        "document.querySelector('.page > .stack > .card:nth-of-type(2)').scrollIntoView()"
    )


def fill_agent(driver: Driver) -> None:
    """Show memories of an agent: active ones, and one that was replaced."""
    token, client = driver.operator(), driver.client
    agent = client.ok("POST", "/v1/agents", {"name": "Coach"}, token=token)["id"]
    path = f"/v1/agents/{agent}/memories"
    for kind, text in (
        ("core", "I keep my answers short, because most people read them on a phone."),
        ("core", "The gym is closed on Mondays."),
        ("journal", "Three people asked for exercises for the back this week."),
    ):
        made = client.ok("POST", path, {"kind": kind, "text": text}, token=token)
        if "Mondays" in text:
            words = {"text": "The gym is closed on Sundays."}
            client.ok("POST", f"{path}/{made['id']}/supersede", words, token=token)
    driver.page.evaluate(f"location.hash = '#/agent/{agent}/memories'")
    expect(driver.page.get_by_text("Removed, replaced and faded")).to_be_visible()


def fill_usage(driver: Driver) -> None:
    """Show the usage of some days."""
    today = date(2026, 11, 22)
    rows: list[dict[str, Any]] = [
        {
            "key": str(today - timedelta(days=13 - n)),
            "calls": 9 + n % 7,
            "input_tokens": 42_000 + 7_900 * (n % 5),
            "cached_tokens": 30_000 + 5_000 * (n % 5),
            "output_tokens": 2_100 + 300 * (n % 4),
            "texts": 4 + n % 3,
            "money": {"currency": "USD", "amount": 0.08},
        }
        for n in range(14)
    ]
    total = {
        name: sum(row[name] for row in rows) for name in rows[0] if name not in {"key", "money"}
    }
    total |= {"tool_calls": 0, "tool_cost": 0}
    total["channels"] = {"sms": {"texts": total["texts"], "units": 84}}
    total["money"] = {"currency": "USD", "amount": 1.12}
    report = {"from": "2026-11-09", "to": "2026-11-22", "rows": rows, "total": total}
    driver.page.route("**/v1/usage?by=day*", lambda route: route.fulfill(json=report))
    driver.page.evaluate("location.hash = '#/usage/day/2026-11-09/2026-11-22'")
    expect(driver.page.locator(".chart")).to_be_visible()


def fill_people(driver: Driver) -> None:
    """Show a person whose agent has written a field of the profile."""
    client, token = driver.client, driver.operator()
    ann = {
        "name": "Ann Lee",
        "time_zone": "Europe/Rome",
        "profile": {"goals": "Run ten kilometers"},
    }
    new = {"id": "ann-lee", "phones": ["+15005550171"], **ann}
    client.call("POST", "/v1/users", new, token=token)  # another picture may have made her
    own = client.token("ann-lee")
    answered_chat(client, ["What is a good exercise?"], person="ann-lee")
    client.ok("PATCH", "/v1/me", {"time_zone": "Europe/Lisbon"}, token=own)
    driver.page.evaluate("location.hash = '#/people/ann-lee'")
    expect(driver.page.get_by_role("link", name="With Coach").first).to_be_visible()
    driver.give_reason()
    expect(driver.page.get_by_role("region", name="Profile", exact=True)).to_be_visible()


def fill_desk(driver: Driver) -> None:
    """Show a chat that the operator holds, with an answer of the team."""
    client, page = driver.client, driver.page
    maya = {"id": "maya-lee", "name": "Maya Lee"}
    client.call("POST", "/v1/users", maya, token=driver.operator())  # or another picture did
    asked = "What is a good exercise for my back? And when do my new shoes come?"
    chat, _ = answered_chat(client, [asked], agent={"name": "Pace"}, person="maya-lee")
    held, reason = {"holder": "me", "name": "Mia"}, "Support+case+4711"
    client.ok("PUT", f"/v1/chats/{chat}/desk?reason={reason}", held, token=driver.operator())
    page.evaluate(f"location.hash = '#/desk/{chat}'")
    page.get_by_label("Briefing for the agents").fill("Maya runs in old shoes until Friday.")
    page.get_by_label("Reply as the team").fill("Your new shoes come on Friday, Maya.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".bubble")).to_have_count(3)
    page.set_viewport_size({"width": 1440, "height": 980})
    page.evaluate("scrollTo(0, 0)")


def fill_transcripts(driver: Driver) -> None:
    """Show a chat, after a reason."""
    chat, _ = answered_chat(driver.client, ["What is a good exercise for my back?", "And my legs?"])
    driver.page.evaluate(f"location.hash = '#/transcripts/{chat}'")
    driver.page.get_by_label("Why do you need to read this chat?").fill("Support case 4711")
    driver.page.get_by_role("button", name="Show chat").click()
    expect(driver.page.locator(".bubble").first).to_be_visible()


def fill_time(driver: Driver) -> None:
    """Give the demo's agent a plan in two hours, and look at what will fire."""
    operator = driver.operator()
    [agent, *_] = driver.client.ok("GET", "/v1/agents?limit=1", token=operator)["items"]
    plan = {"name": "Morning report", "instruction": "Report.", "run_after": "2 hours"}
    driver.client.ok("POST", f"/v1/agents/{agent['id']}/plans", plan, token=operator)
    driver.page.get_by_role("button", name="Refresh").click()
    expect(driver.page.locator(".events li").first).to_be_visible()


FILL = {
    "audit": fill_audit,
    "agent": fill_agent,
    "why": fill_why,
    "usage": fill_usage,
    "time": fill_time,
    "people": fill_people,
    "desk": fill_desk,
    "transcripts": fill_transcripts,
}


def agents_of(client: Client, operator: str) -> Iterator[dict[str, Any]]:
    """Yield all agents, page by page: another test makes more than a page of them."""
    path: str | None = "/v1/agents?limit=100"
    while path is not None:
        page = client.ok("GET", path, token=operator)
        yield from page["items"]
        cursor = page["next_cursor"]
        path = cursor and f"/v1/agents?limit=100&cursor={quote(cursor)}"


def make_hostile(client: Client) -> None:
    """Give an agent, a person, a chat and a line names with markup; repeatable."""
    operator = client.token(OPERATOR, "chat admin")
    name = HOSTILE[:60]
    agent = next((each for each in agents_of(client, operator) if each["name"] == name), None)
    if agent is None:
        agent = client.ok("POST", "/v1/agents", {"name": name}, token=operator)
        client.ok("POST", "/v1/users", {"id": "hostile", "name": HOSTILE}, token=operator)
        line = {"phone": "+15005550032", "agent_id": agent["id"]}
        client.ok("POST", "/v1/lines", line, token=operator)
    chat = {
        "client_id": "hostile",
        "kind": "group",
        "title": HOSTILE,
        "respond": "manual",
        "members": [{"kind": "agent", "id": agent["id"]}],
    }
    opened = client.ok("POST", "/v1/chats", chat, token=operator)
    message = {"text": HOSTILE, "client_id": "hostile"}
    client.ok("POST", f"/v1/chats/{opened['id']}/messages", message, token=operator)
