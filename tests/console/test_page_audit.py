"""The page Audit: who read or changed what on a day."""

from playwright.sync_api import expect

from tests.console.driver import HOSTILE, Driver


def test_audit_lists_changes_and_reasons_as_text(driver: Driver) -> None:
    token, client = driver.operator(), driver.client
    chat = client.ok("POST", "/v1/chats", {"kind": "group", "members": []}, token=token)["id"]
    agent = client.ok("POST", "/v1/agents", {"name": HOSTILE[:60]}, token=token)["id"]
    answer = client.call(
        "GET", f"/v1/transcripts/{chat}?reason=%3Cscript%3Ealert(1)%3C/script%3E", token=token
    )
    assert answer.status == 200
    support = client.token("usr_support", "support")
    assert client.call("DELETE", "/v1/users/usr_kept", token=support).status == 403
    driver.open_as_operator("#/audit")
    entries = driver.page.locator(".items > li")
    expect(entries.filter(has_text="created agent").first).to_contain_text("operator")
    copy = driver.page.locator(f'[title="{agent}"]')
    expect(entries.filter(has=copy).first).to_contain_text("created agent")
    read = entries.filter(has_text="<script>alert(1)</script>")
    expect(read.first.locator(f'[title="{chat}"]')).to_be_visible()
    expect(entries.filter(has_text="Rejected").first).to_contain_text("usr_support deleted user")
    expect(entries.filter(has_text="Rejected").first).to_contain_text("privacy")
    expect(read.first).not_to_contain_text("Rejected")
    expect(entries.filter(has_text="viewed pages").first).to_be_visible()
    driver.check_inert()
    driver.check_looks()


def test_audit_of_another_day_is_empty(driver: Driver) -> None:
    driver.open_as_operator("#/audit")
    driver.page.get_by_label("Day").fill("2026-01-01")
    driver.page.get_by_role("button", name="Show", exact=True).press("Enter")
    driver.ready()
    expect(driver.page.locator("main")).to_contain_text("No entries on this day.")


def test_audit_shows_further_pages(driver: Driver) -> None:
    token = driver.operator()
    for _ in range(101):
        driver.client.ok("GET", "/v1/agents?limit=1", token=token)
    driver.open_as_operator("#/audit/today/all")
    entries = driver.page.locator(".items > li")
    expect(entries).to_have_count(100)
    driver.page.get_by_role("button", name="Show more").press("Enter")
    expect(entries.nth(100)).to_be_visible()
