"""The page Settings: settings with their sources, and pauses."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.console.driver import HOSTILE, Driver


@pytest.fixture(autouse=True)
def _own_settings(driver: Driver) -> Iterator[None]:
    yield
    body = dict.fromkeys(["sms_answer_characters", *TYPED])
    driver.client.ok("PATCH", "/v1/settings", body, token=driver.operator())
    driver.client.ok("DELETE", "/v1/pauses/background", token=driver.operator())


def row(driver: Driver, name: str) -> Locator:
    return driver.page.locator(f"[data-setting={name}]")


def unfold(driver: Driver, group: str) -> None:
    driver.page.locator("summary").filter(has_text=group).first.click()


def test_setting_is_changed_in_place_and_taken_back_with_its_source(driver: Driver) -> None:
    driver.open_as_operator("#/settings")
    unfold(driver, "Answers and messages")
    setting = row(driver, "sms_answer_characters")
    expect(setting).to_contain_text("set by the deployment")
    setting.get_by_text("Change").click()
    expect(setting.get_by_label("Value")).to_have_value("480")
    expect(setting).to_contain_text("Minimum 70, maximum 20000")
    setting.get_by_label("Value").fill("300")
    setting.get_by_role("button", name="Save").press("Enter")
    expect(setting).to_contain_text("300")
    expect(setting).to_contain_text("set by the tenant")
    setting.get_by_text("Change").click()
    setting.get_by_role("button", name="Reset to default").press("Enter")
    expect(setting).to_contain_text("set by the deployment")


TYPED = {
    "context_reset_phrases": (
        "Prompt content",
        {"Value": "again\nreset"},
        ["again", "reset"],
    ),
    "quiet_hours": (
        "Answers and messages",
        {"From": "22:00", "To": "07:00"},
        {"from": "22:00", "to": "07:00"},
    ),
    "prices": (
        "Cost",
        {"SMS segment": "0.0079"},
        {
            "currency": "USD",
            "models": {"gpt-4.1-mini": {"input": 0.4, "cached": 0.1, "output": 1.6}},
            "channels": {"sms": 0.0079},
        },
    ),
    "operators_read_chats": ("Privacy", {"Value": "yes"}, True),
}


@pytest.mark.parametrize("name", TYPED)
def test_setting_has_a_field_of_its_type(driver: Driver, name: str) -> None:
    group, given, expected = TYPED[name]
    driver.open_as_operator("#/settings")
    unfold(driver, group)
    setting = row(driver, name)
    setting.get_by_text("Change", exact=True).click()
    if name == "prices":
        setting.get_by_label("Add a known model").select_option("gpt-4.1-mini")
    for label, value in given.items():
        control = setting.get_by_label(label, exact=True)
        if control.evaluate("control => control.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)
    driver.check_looks()
    setting.get_by_role("button", name="Save").press("Enter")
    expect(setting).to_contain_text("set by the tenant")
    saved = driver.client.ok("GET", "/v1/settings", token=driver.operator())
    assert saved[name] == expected


def test_setting_of_an_agent_has_the_agent_as_its_source(driver: Driver) -> None:
    body = {"name": HOSTILE[:60], "settings": {"context_reset_phrases": [HOSTILE[:90]]}}
    agent = driver.client.ok("POST", "/v1/agents", body, token=driver.operator())["id"]
    driver.open_as_operator(f"#/settings/{agent}")
    unfold(driver, "Prompt content")
    setting = row(driver, "context_reset_phrases")
    expect(setting).to_contain_text("the agent")
    expect(setting).to_contain_text(HOSTILE[:20])
    driver.check_inert()
    driver.check_looks()


def test_setting_of_a_line_has_the_line_as_its_source(driver: Driver) -> None:
    client, token, phone = driver.client, driver.operator(), "+15005550071"
    agent = client.ok("POST", "/v1/agents", {"name": "On a line"}, token=token)["id"]
    body = {"phone": phone, "agent_id": agent, "settings": {"sms_answer_characters": 333}}
    client.ok("POST", "/v1/lines", body, token=token)
    try:
        driver.open_as_operator("#/settings")
        driver.page.get_by_label("Channel").select_option(phone)
        unfold(driver, "Answers and messages")
        setting = row(driver, "sms_answer_characters")
        expect(setting).to_contain_text("333")
        expect(setting).to_contain_text("the line")
        expect(driver.page.get_by_label("Applies to")).to_have_value(agent)
        driver.check_looks()
        driver.page.get_by_label("Channel").select_option("the app")
        expect(setting).to_contain_text("the deployment")
        assert driver.page.url.endswith(f"#/settings/{agent}")
    finally:
        client.ok("DELETE", f"/v1/lines/{phone}", token=token)


def test_pause_is_begun_and_ended(driver: Driver) -> None:
    driver.open_as_operator("#/settings")
    page = driver.page
    page.get_by_role("button", name="Pause: Summaries and memories").press("Enter")
    expect(page.locator(".bad")).to_contain_text("Summaries and memories: paused since")
    driver.check_accessibility()
    page.get_by_role("button", name="Resume: Summaries and memories").press("Enter")
    expect(page.locator(".bad")).to_have_count(0)


def test_endpoint_is_created_with_a_secret_that_is_shown_once(driver: Driver) -> None:
    driver.open_as_operator("#/settings")
    page = driver.page
    endpoints = page.locator(".card").filter(
        has=page.get_by_role("heading", name="Event endpoints")
    )
    endpoints.get_by_text("Add an event endpoint").press("Enter")
    endpoints.get_by_label("Endpoint URL").fill("https://127.0.0.1:1/console")
    endpoints.get_by_label("message.created").check()
    endpoints.get_by_label("Include the content of messages").check()
    endpoints.get_by_role("button", name="Add endpoint").press("Enter")
    expect(endpoints.locator("code")).to_contain_text("whsec_")
    made = endpoints.locator("section").filter(has_text="https://127.0.0.1:1/console")
    expect(made).to_contain_text("message.created")
    expect(made).to_contain_text("also from private chats")
    driver.check_looks()
    made.get_by_role("button", name="Disable").press("Enter")
    expect(made).to_contain_text("disabled")
    made.get_by_role("button", name="Delete").press("Enter")
    expect(made).to_have_count(0)


def test_parked_events_are_sent_again_one_by_one_or_together(driver: Driver) -> None:
    token, client = driver.operator(), driver.client
    url = "https://127.0.0.1:1/parked"
    body = {"url": url, "types": ["run.ended"]}
    endpoint = client.ok("POST", "/v1/event-endpoints", body, token=token)["id"]
    parked = [
        {
            "id": f"evt_{n}",
            "type": "run.ended",
            "data": {"run_id": HOSTILE},
            "error": HOSTILE,
            "at": "2026-11-22T09:00:00Z",
            "parked_at": "2026-11-23T09:00:00Z",
        }
        for n in (1, 2, 3)
    ]

    def redeliver(route: Route) -> None:
        wanted = parse_qs(urlsplit(route.request.url).query).get("event_id")
        sent = [each for each in parked if wanted is None or each["id"] in wanted]
        parked[:] = [each for each in parked if each not in sent]
        route.fulfill(json={"redelivered": len(sent)})

    page = driver.page
    page.route(
        "**/parked?*", lambda route: route.fulfill(json={"items": parked, "next_cursor": None})
    )
    page.route("**/redeliver*", redeliver)
    try:
        driver.open_as_operator("#/settings")
        made = page.locator("section section").filter(has_text=url)
        made.get_by_text("Failed events").press("Enter")
        expect(made.locator("li")).to_have_count(3)
        driver.check_inert()
        driver.check_looks()
        made.get_by_role("button", name="Resend: evt_2").press("Enter")
        expect(made.locator("li")).to_have_count(2)
        made.get_by_role("button", name="Resend the oldest 50").press("Enter")
        expect(made).to_contain_text("Resending 2 events.")
        expect(made).to_contain_text("No failed events.")
    finally:
        client.ok("DELETE", f"/v1/event-endpoints/{endpoint}", token=token)
