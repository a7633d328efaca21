"""Sign-in: one click, the token in memory only, and the place kept."""

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from tests.console.driver import HOSTILE, Driver


def stored(driver: Driver) -> str:
    """Return all that the browser keeps of the console."""
    script = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    return str(driver.page.evaluate(script))


def as_a_deployment(driver: Driver) -> None:
    """Let the console take its stack for a deployment, whose tokens it keeps in memory only."""

    def change(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "local": False})

    driver.page.route("**/console/config", change)


def test_sign_in_returns_to_the_page_and_stores_no_token(
    driver: Driver, context: BrowserContext
) -> None:
    as_a_deployment(driver)
    driver.sign_in("#/chats")
    assert driver.page.url.endswith("/console/#/chats")
    expect(driver.page.locator("h1")).to_have_text("Chats")
    assert "ey" not in stored(driver)
    assert "skein-sign-in" not in stored(driver)
    assert context.cookies() == []


def test_reload_asks_to_sign_in_again_except_on_a_local_stack(driver: Driver) -> None:
    driver.sign_in("#/chats")
    driver.page.reload()
    driver.ready()
    expect(driver.page.locator("h1")).to_have_text("Chats")
    driver.page.get_by_role("button", name="Sign out").click()
    assert "ey" not in stored(driver)
    as_a_deployment(driver)
    driver.sign_in("#/chats")
    driver.page.reload()
    driver.ready()
    expect(driver.page.locator("main")).to_contain_text("Sign in to see this page")


def test_token_that_the_api_refuses_asks_to_sign_in_and_keeps_the_place(driver: Driver) -> None:
    driver.sign_in("#/chats")
    refuse = "**/v1/**"
    answer = {"message": "Unauthorized"}
    driver.page.route(refuse, lambda route: route.fulfill(status=401, json=answer))
    driver.go("Home")
    expect(driver.page.get_by_role("alert")).to_contain_text("Your session has expired")
    driver.page.unroute(refuse)
    driver.sign_in_again()
    assert driver.page.url.endswith("#/home")
    expect(driver.page.locator("h1")).to_have_text("Home")


def test_token_about_to_expire_shows_a_warning(driver: Driver) -> None:
    def shorten(route: object) -> None:
        answer = route.fetch()  # type: ignore[attr-defined]
        route.fulfill(json={**answer.json(), "expires_in": 127})  # type: ignore[attr-defined]

    driver.page.route("**/local/oauth/token", shorten)
    driver.sign_in("#/settings")
    warning = driver.page.locator(".warning")
    expect(warning).to_contain_text("expires in two minutes", timeout=10_000)
    expect(driver.page.locator("h1")).to_have_text("Settings")
    driver.check_looks()
    driver.page.unroute("**/local/oauth/token")
    warning.get_by_role("button", name="Sign in").click()
    driver.page.locator(".choices button").first.click()
    driver.ready()
    assert driver.page.url.endswith("#/settings")
    expect(warning).to_be_empty()


def test_token_that_expires_asks_to_sign_in_without_a_call(driver: Driver) -> None:
    def shorten(route: object) -> None:
        answer = route.fetch()  # type: ignore[attr-defined]
        route.fulfill(json={**answer.json(), "expires_in": 7})  # type: ignore[attr-defined]

    driver.page.route("**/local/oauth/token", shorten)
    driver.sign_in("#/chats")
    expect(driver.page.get_by_role("alert")).to_contain_text("has expired", timeout=10_000)
    driver.check_accessibility()


def test_sign_out_forgets_the_token(driver: Driver) -> None:
    driver.sign_in("#/chats")
    driver.page.get_by_role("button", name="Sign out").click()
    expect(driver.page.locator("main")).to_contain_text("Sign in to see this page")


@pytest.mark.parametrize("query", ["code=abc&state=forged", "error=denied&state=forged"])
def test_answer_to_a_sign_in_that_was_not_begun_here_is_refused(driver: Driver, query: str) -> None:
    driver.page.goto(f"{driver.client.url}/console/?{query}#/chats")
    driver.ready()
    expect(driver.page.get_by_role("alert")).to_contain_text("was started elsewhere")
    assert "state=" not in driver.page.url


def test_refusal_of_the_issuer_is_shown_as_text(driver: Driver) -> None:
    refusal = {"error": "invalid_grant", "error_description": HOSTILE}
    pattern = "**/local/oauth/token"
    driver.open("#/chats")
    driver.page.route(pattern, lambda route: route.fulfill(status=400, json=refusal))
    driver.page.locator("main").get_by_role("button", name="Sign in").click()
    driver.page.locator(".choices button").first.click()
    expect(driver.page.get_by_role("alert")).to_contain_text(HOSTILE)


def test_issuers_page_has_no_accessibility_problem(driver: Driver) -> None:
    driver.open("#/chats")
    driver.page.locator("main").get_by_role("button", name="Sign in").click()
    expect(driver.page.locator(".choices")).to_be_visible()
    driver.check_accessibility()


def test_console_at_localhost_moves_to_the_issuers_address(driver: Driver) -> None:
    driver.page.goto(f"{driver.client.url.replace('127.0.0.1', 'localhost')}/console/#/phone")
    driver.page.wait_for_url(f"{driver.client.url}/console/#/phone")
    driver.ready()
