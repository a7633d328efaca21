"""The page Usage: reports by day, agent, person and model."""

import pytest
from playwright.sync_api import expect

from tests.console.driver import HOSTILE, Driver, answered_chat


def test_usage_by_day_has_a_chart_and_a_table(driver: Driver) -> None:
    answered_chat(driver.client, ["Hello"])
    driver.open_as_operator("#/usage")
    expect(driver.page.locator(".chart rect").first).to_be_attached()
    expect(driver.page.locator("main tbody tr")).not_to_have_count(0)
    driver.check_looks()


@pytest.mark.parametrize("by", ["agent", "user", "channel", "model"])
def test_usage_by_other_things_names_them_as_text(driver: Driver, by: str) -> None:
    answered_chat(driver.client, ["Hello"], agent={"name": HOSTILE[:60]})
    sms = {"from": "+15005550189", "to": "+15005550006", "body": "Hello"}
    driver.client.ok("POST", "/local/sms", sms)
    driver.client.ok("POST", "/local/drain")
    driver.open_as_operator("#/usage")
    tab = "By person" if by == "user" else f"By {by}"
    driver.page.get_by_role("link", name=tab).press("Enter")
    driver.ready()
    rows = driver.page.locator("main tbody th")
    expected = {"agent": HOSTILE[:60], "user": "operator", "channel": "SMS", "model": "gpt"}[by]
    expect(rows.filter(has_text=expected).first).to_be_visible()
    driver.check_inert()
    driver.check_looks()


def test_usage_of_other_days_is_reached_by_their_dates(driver: Driver) -> None:
    driver.open_as_operator("#/usage")
    driver.page.get_by_label("From").fill("2026-01-01")
    driver.page.get_by_label("To", exact=True).fill("2026-01-03")
    driver.page.get_by_role("button", name="Show").press("Enter")
    driver.ready()
    expect(driver.page.locator("main")).to_contain_text("0")
    assert driver.page.url.endswith("#/usage/day/2026-01-01/2026-01-03")


def test_usage_over_too_many_days_shows_the_limit(driver: Driver) -> None:
    driver.open_as_operator("#/usage/day/2026-01-01/2026-06-01")
    expect(driver.page.get_by_role("alert")).to_contain_text("31 days")
    driver.errors.clear()  # the console logs the error itself
