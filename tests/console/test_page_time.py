"""The page Time: the clock of a local stack, the events that will fire, and those that have."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Route, expect

from tests.console.conftest import stack
from tests.console.driver import HOSTILE, OPERATOR, Driver, answered_chat
from tests.support.scripted_openai import ScriptedOpenAI

TURN_MS = 60_000


@pytest.fixture(scope="module")
def _url(_model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stack of its own, whose clock no other test sees."""
    with stack(_model, tmp_path_factory.mktemp("time")) as url:
        yield url


def plan(driver: Driver, name: str, run_after: str) -> None:
    """Give the demo's agent a plan."""
    token = driver.client.token(OPERATOR, "chat admin")
    [agent, *_] = driver.client.ok("GET", "/v1/agents", token=token)["items"]
    new = {"name": name, "instruction": "Think.", "run_after": run_after}
    driver.client.ok("POST", f"/v1/agents/{agent['id']}/plans", new, token=token)


def ahead(driver: Driver) -> float:
    """Return how far the stack's clock is ahead of real time, in seconds."""
    return float(driver.client.ok("GET", "/local/config")["offset_seconds"])


def turned(driver: Driver) -> None:
    """Wait until the clock was turned."""
    expect(driver.page.get_by_role("status")).to_contain_text(
        "Moved the clock forward by", timeout=TURN_MS
    )


def test_plan_is_listed_and_fires_when_the_clock_is_turned(driver: Driver) -> None:
    plan(driver, HOSTILE[:60], "50 minutes")
    plan(driver, "Later", "3 days")
    driver.open("#/time")
    page = driver.page
    coming = page.get_by_role("region", name="Upcoming events").locator("li[data-kind=plan]")
    fired = page.get_by_role("region", name="Fired events").locator("li[data-kind=plan]")
    expect(coming.first).to_contain_text(HOSTILE[:60])
    expect(coming.first).to_contain_text("starts a run with the plan's instruction")
    expect(coming.first).to_contain_text("Think.")
    expect(coming.first.get_by_role("link", name="Agent: Coach")).to_have_attribute(
        "href", re.compile("^#/agent/agt_.*/plans$")
    )
    expect(coming.first).to_contain_text(re.compile("in (49|50) min"))
    before = ahead(driver)
    page.get_by_role("button", name="1 hour").press("Enter")
    turned(driver)
    assert ahead(driver) - before == pytest.approx(3600, abs=1)
    expect(fired).to_have_count(1)
    expect(fired).to_contain_text(HOSTILE[:60])
    expect(coming).to_have_count(1)
    expect(coming).to_contain_text("Later")
    expect(page.get_by_role("region", name="Fired events")).to_contain_text("RunWorker")
    driver.check_accessibility()


def test_event_of_a_chat_leads_to_the_chat_and_its_agent(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"])
    driver.open("#/time")
    events = driver.page.locator(f"li:has(a[href='#/transcripts/{chat}'])")
    event = events.filter(has_text="The agent creates memories from the new messages.")
    expect(event.get_by_role("link", name="Chat: Person operator, Coach")).to_be_visible()
    driver.check_looks()
    event.get_by_role("link").first.click()
    driver.ready()
    expect(driver.page.locator("main")).to_contain_text("Sign in to see this page")
    driver.sign_in_again()
    expect(driver.page.get_by_label("Why do you need to read this chat?")).to_be_visible()


def test_clock_turns_to_the_next_event_which_fires(driver: Driver) -> None:
    plan(driver, "Next", "20 minutes")
    driver.open("#/time")
    page = driver.page
    first = page.get_by_role("region", name="Upcoming events").locator("time").first
    due = first.get_attribute("datetime")
    page.get_by_role("button", name="Next event").click()
    turned(driver)
    fired = page.get_by_role("region", name="Fired events").locator("time")
    expect(fired.first).to_have_attribute("datetime", due or "")


def test_clock_turns_to_a_time_and_not_to_the_past(driver: Driver) -> None:
    driver.open("#/time")
    page = driver.page
    now = datetime.now() + timedelta(seconds=ahead(driver))  # noqa: DTZ005 - the browser's zone
    later = now + timedelta(days=2)
    page.get_by_label("Specific time").fill(f"{later:%Y-%m-%dT%H:%M:%S}")
    page.get_by_role("button", name="Move to this time").click()
    turned(driver)
    now = datetime.now() + timedelta(seconds=ahead(driver))  # noqa: DTZ005
    assert abs(now - later) < timedelta(minutes=1)
    before = ahead(driver)
    page.get_by_label("Specific time").fill("2026-01-01T00:00:00")
    page.get_by_role("button", name="Move to this time").click()
    expect(page.get_by_role("status")).to_contain_text("Choose a time after")
    assert ahead(driver) == before


def test_clock_is_reset_to_real_time(driver: Driver) -> None:
    driver.client.ok("POST", "/local/clock", {"advance_seconds": 3 * 86_400 + 60})
    driver.open("#/time")
    page = driver.page
    expect(page.locator("dd").nth(1)).not_to_have_text("0 s")
    page.get_by_role("button", name="Reset to real time").click()
    expect(page.get_by_role("status")).to_contain_text("back to real time", timeout=TURN_MS)
    expect(page.locator("dd").nth(1)).to_have_text("0 s")
    assert ahead(driver) == 0


def test_turn_that_fails_says_why_and_can_be_tried_again(driver: Driver) -> None:
    error = {"code": "unavailable", "detail": HOSTILE, "details": {}}

    def refuse(route: Route) -> None:
        route.fulfill(status=503, json=error)

    driver.page.route("**/local/clock", refuse)
    driver.open("#/time")
    driver.page.get_by_role("button", name="1 day").click()
    expect(driver.page.get_by_role("status")).to_have_text(HOSTILE)
    expect(driver.page.get_by_role("button", name="1 day")).to_be_enabled()
