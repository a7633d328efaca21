"""What the console shows for errors: expired tokens, API and network failures, missing rights."""

import pytest
from playwright.sync_api import Route, expect

from tests.console.driver import NARROW, OPERATOR, Driver
from tests.console.places import PLACES, Place

SIGNED_IN = [place for place in PLACES if place.signed_in]
API = "**/v1/**"
LONG = "Donaudampfschifffahrtsgesellschaftskapitaensmuetze" * 4
ARABIC = "مدرب اللياقة البدنية للمبتدئين"
FAMILY = "👩‍👩‍👧‍👦 👍🏽"

signed_in_page = pytest.mark.parametrize("place", SIGNED_IN, ids=lambda place: place.address)


def heading(driver: Driver) -> str:
    return driver.page.locator("main h1").inner_text()


@signed_in_page
def test_token_that_ends_in_the_middle_and_a_reload_lead_back_to_the_page(
    driver: Driver, place: Place
) -> None:
    place.open(driver)
    page, before = driver.page, heading(driver)
    page.route(API, lambda route: route.fulfill(status=401, json={"message": "Unauthorized"}))
    page.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))")
    expect(page.get_by_role("alert")).to_contain_text("Your session has expired")
    page.unroute(API)
    driver.sign_in_again()
    assert (heading(driver), page.url.partition("#")[2]) == (before, place.address[1:])
    page.reload()
    driver.ready()
    driver.sign_in_again()
    assert (heading(driver), page.url.partition("#")[2]) == (before, place.address[1:])


def test_back_and_forward_show_each_page_again(driver: Driver) -> None:
    driver.open_as_operator(SIGNED_IN[0].address)
    headings = []
    for place in SIGNED_IN:
        driver.page.evaluate(f"location.hash = '{place.address}'")
        driver.page.wait_for_selector(f".page-{place.name}:not([aria-busy])")
        headings.append(heading(driver))
    for step, places in (
        (driver.page.go_back, SIGNED_IN[-2::-1]),
        (driver.page.go_forward, SIGNED_IN[1:]),
    ):
        for place in places:
            step()
            driver.page.wait_for_selector(f".page-{place.name}:not([aria-busy])")
            assert heading(driver) == headings[SIGNED_IN.index(place)]


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (429, '{"message": "Too Many Requests"}', "Try again in a moment"),
        (503, '{"message": "Service Unavailable"}', "is temporarily unavailable (status 503)"),
        (502, "<html>Bad gateway</html>", "is temporarily unavailable (status 502)"),
        (200, "<html>A proxy's page</html>", "can't read"),
    ],
)
def test_gateway_error_is_shown_and_can_be_retried(
    driver: Driver, status: int, body: str, told: str
) -> None:
    driver.open_as_operator("#/home")
    page = driver.page
    page.route(API, lambda route: route.fulfill(status=status, body=body))
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("alert")).to_contain_text(told)
    driver.errors.clear()  # the console logs the error itself
    page.unroute(API)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("h1")).to_have_text("Settings")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("#/usage/constructor", "Page not found."),
        ("#/agent/x/constructor", "Page not found."),
        ("#/agent/x/goals/planet/mars", "Page not found."),
        ("#/usage/day/bad/worse", "query.from: the day must look like"),
        ("#/people/nobody", "user not found"),
        ("#/%", "Page not found."),
    ],
)
def test_invalid_address_shows_a_readable_error(driver: Driver, address: str, told: str) -> None:
    driver.open_as_operator("#/home")
    driver.page.evaluate(f"location.hash = '{address}'")
    expect(driver.page.get_by_role("alert")).to_contain_text(told)
    driver.errors.clear()  # the console logs the error itself


def test_slow_network_shows_that_the_page_is_loading(driver: Driver) -> None:
    driver.open_as_operator("#/home")
    held: list[Route] = []
    slow = True

    def hold(route: Route) -> None:
        if slow:
            held.append(route)
        else:
            route.continue_()

    driver.page.route("**/v1/settings**", hold)
    driver.page.get_by_role("link", name="Settings").click()
    expect(driver.page.locator(".loading")).to_be_visible()
    slow = False
    for route in held:
        route.continue_()
    driver.ready()
    expect(driver.page.locator(".loading")).to_have_count(0)


def test_reader_without_a_role_gets_links_to_the_other_pages_only(driver: Driver) -> None:
    driver.open_as_operator("#/chats", scope="chat")
    links = driver.page.get_by_role("navigation", name="Pages").get_by_role("link")
    expect(links).to_have_text(["Phone", "Chats", "Time"])
    driver.page.evaluate("location.hash = '#/audit'")
    expect(driver.page.locator("h1")).to_have_text("You don't have access to this page")
    expect(driver.page.get_by_role("alert")).to_contain_text("requires the scope privacy")
    driver.check_looks()


@signed_in_page
def test_page_without_the_required_scope_shows_the_error(driver: Driver, place: Place) -> None:
    driver.open_as_operator(SIGNED_IN[0].address)
    error = {"code": "forbidden", "detail": "the token lacks the scope", "details": {}}
    driver.page.route(API, lambda route: route.fulfill(status=403, json=error))
    driver.page.evaluate("location.hash = '#/none'")
    expect(driver.page.get_by_role("alert")).to_contain_text("Page not found")
    driver.page.evaluate(f"location.hash = '{place.address}'")
    expect(driver.page.get_by_role("alert")).to_contain_text("the token lacks the scope")
    driver.errors.clear()


@signed_in_page
def test_new_tenant_has_no_broken_page(driver: Driver, place: Place) -> None:
    driver.page.set_viewport_size(NARROW)
    place.open(driver, "brand-new")
    driver.check_width()
    driver.check_accessibility()


@signed_in_page
def test_long_and_foreign_names_fit_a_window_of_320_pixels(driver: Driver, place: Place) -> None:
    make_odd(driver)
    driver.page.set_viewport_size(NARROW)
    place.open(driver, "odd")
    driver.check_width()
    driver.check_accessibility()


def make_odd(driver: Driver) -> None:
    """Give agents, people and chats of a tenant long and foreign names; repeatable."""
    token = driver.client.token(OPERATOR, "chat admin", "odd")
    if driver.client.ok("GET", "/v1/agents", token=token)["items"]:
        return
    for number, name in enumerate((LONG, ARABIC, FAMILY)):
        agent = {"name": name, "system_prompt": name}
        made = driver.client.ok("POST", "/v1/agents", agent, token=token)
        person = {"id": f"odd-{number}", "name": name}
        driver.client.ok("POST", "/v1/users", person, token=token)
        chat = {
            "kind": "group",
            "title": name,
            "respond": "manual",
            "members": [{"kind": "agent", "id": made["id"]}],
        }
        opened = driver.client.ok("POST", "/v1/chats", chat, token=token)["id"]
        message = {"text": name, "client_id": f"odd-{number}"}
        driver.client.ok("POST", f"/v1/chats/{opened}/messages", message, token=token)


def test_tabs_have_sessions_of_their_own(driver: Driver) -> None:
    driver.open_as_operator("#/chats")
    other = Driver(driver.page.context.new_page(), driver.client)
    other.open("#/chats")
    expect(other.page.locator("main")).to_contain_text("Sign in to see this page")
    other.sign_in_again()
    other.page.get_by_role("button", name="Sign out").click()
    driver.go("Home")
    expect(driver.page.locator("h1")).to_have_text("Home")
    assert other.errors == []
