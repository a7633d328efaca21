"""The page Errands: questions that agents take to people, and outreach."""

from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Route, expect

from tests.console.driver import HOSTILE, Driver, answered_chat

STATES = {"open": "Open", "answered": "Answered", "no_answer": "No answer"}


def errand(state: str, agent: str, *, private: bool) -> dict[str, Any]:
    """Return an errand, as the API lists it."""
    return {
        "id": f"err_{state}",
        "group_id": "err_group",
        "agent_id": agent,
        "chat_id": "chat_1",
        "asked_by": {"id": "usr_ann", "name": "Ann"},
        "asked": {"id": "usr_ben", "name": HOSTILE},
        "question": None if private else HOSTILE,
        "text": None if private else "Ann asks",
        "answer": None if private or state != "answered" else "On Thursday",
        "state": state,
        "until": "2026-11-24T12:00:00Z",
        "answered_at": None,
        "created_at": "2026-11-23T12:00:00Z",
    }


def test_words_of_errands_are_shown_after_a_reason(driver: Driver) -> None:
    _, agent = answered_chat(driver.client, [], agent={"name": HOSTILE[:60]})

    def answer(route: Route) -> None:
        private = "reason=" not in route.request.url
        items = [errand(state, agent, private=private) for state in STATES]
        route.fulfill(json={"items": items, "next_cursor": None})

    driver.page.route("**/v1/errands?*", answer)
    driver.open_as_operator("#/errands")
    questions = driver.page.get_by_role("region", name="Questions").locator("tbody tr")
    for row, shown in zip(questions.all(), STATES.values(), strict=True):
        expect(row).to_contain_text("Private. Requires the privacy role and a reason")
        expect(row.locator("td").nth(0)).to_have_text("Ann")
        expect(row.locator("td").nth(1)).to_have_text(HOSTILE)
        expect(row.locator("td").nth(2)).to_have_text(shown)
    driver.give_reason()
    expect(questions.nth(1)).to_contain_text("On Thursday")
    expect(questions.nth(0).locator("th")).to_have_text(HOSTILE)
    expect(driver.page.locator("main")).not_to_contain_text("Private. Requires")
    driver.check_looks()
    driver.check_inert()


def test_list_has_the_outreach_of_the_tenant(driver: Driver) -> None:
    client, token = driver.client, driver.operator()
    _, agent = answered_chat(client, [], agent={"name": "Coach"})
    person = {"id": "reached", "name": "Rita", "phones": ["+15005550179"]}
    client.ok("POST", "/v1/users", person, token=token)
    consent = "/v1/users/reached/phones/%2B15005550179/consents/sms"
    client.ok("PUT", consent, {"proof": "Ticked the box in the form"}, token=token)
    client.ok("POST", "/v1/lines", {"phone": "+15005550033", "agent_id": agent}, token=token)
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()  # no text is sent today
    body = {"people": ["reached"], "agent_id": agent, "text": HOSTILE, "asked_by": "Alice Ward"}
    body["not_before"] = later
    made = client.ok("POST", "/v1/outreach", body, token=token)
    client.ok("PATCH", f"/v1/outreach/{made['id']}", {"status": "paused"}, token=token)
    driver.open_as_operator("#/errands")
    row = driver.page.get_by_role("region", name="Outreach").locator("tbody tr").first
    expect(row).to_contain_text(HOSTILE)
    expect(row).to_contain_text("Paused")
    expect(row.get_by_role("link", name="Coach")).to_have_attribute("href", f"#/agent/{agent}")
    row.get_by_role("button", name="Report").click()
    people = driver.page.get_by_role("region", name="Report", exact=True).locator("tbody tr")
    expect(people.locator("th")).to_have_text("Rita")
    expect(people.locator("td").first).to_have_text("Waiting")
    driver.check_looks()
    row.get_by_role("button", name="Resume").click()
    expect(row.locator("td").nth(1)).to_have_text("Active")
    row.get_by_role("button", name="Pause").click()
    expect(row.locator("td").nth(1)).to_have_text("Paused")
    row.get_by_text("Cancel", exact=True).click()
    row.get_by_role("button", name="Cancel outreach").click()
    expect(row.locator("td").nth(1)).to_have_text("Canceled")
    expect(row.get_by_role("button")).to_have_count(1)
    driver.check_inert()
