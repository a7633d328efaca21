"""The page Read chats: an agent's chats, and one chat for a reason that is audited."""

from playwright.sync_api import Route, expect

from tests.console.driver import HOSTILE, Driver, answered_chat
from tests.support.scripted_openai import Answer, ScriptedOpenAI

REASON = "Support case 4711 <b>"


def give_reason(driver: Driver, reason: str = REASON) -> None:
    """Give a reason, and ask to see the chat."""
    driver.page.get_by_label("Why do you need to read this chat?").fill(reason)
    driver.page.get_by_role("button", name="Show chat").press("Enter")


def test_chat_is_shown_only_after_a_reason_which_is_audited(driver: Driver) -> None:
    chat, agent = answered_chat(driver.client, [HOSTILE], agent={"name": HOSTILE[:60]})
    asked: list[str] = []
    driver.page.on("request", lambda request: asked.append(request.url))
    driver.open_as_operator(f"#/transcripts/{chat}")
    page = driver.page
    expect(page.get_by_label("Why do you need to read this chat?")).to_be_visible()
    assert page.locator(".bubble").count() == 0
    assert not [url for url in asked if "/transcripts/" in url.replace("#", "")]
    give_reason(driver)
    expect(page.locator(".bubble").first).to_contain_text(HOSTILE)
    expect(page.locator("main")).to_contain_text(f"Logged reason: {REASON}")
    link = page.get_by_role("link", name=f"Why did {HOSTILE[:60]} say this?")
    expect(link).to_have_attribute("href", f"#/why/{chat}/2")
    driver.check_looks()
    driver.check_inert()
    found = driver.client.ok("GET", "/v1/audit?limit=100", token=driver.operator())["items"]
    [entry, *_] = [each for each in found if each.get("reason") == REASON]
    assert agent
    assert chat in str(entry)


def test_list_has_the_private_chats_of_all_agents(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"], agent={"name": HOSTILE[:60]})
    driver.open_as_operator("#/transcripts")
    link = driver.page.locator(f'a[href="#/transcripts/{chat}"]')
    row = driver.page.locator("tbody tr").filter(has=link)
    expect(row).to_contain_text("Direct chat")
    expect(row).to_contain_text(HOSTILE[:60])
    driver.check_looks()
    driver.check_inert()
    row.get_by_role("link").click()
    expect(driver.page.get_by_label("Why do you need to read this chat?")).to_be_visible()


def test_silence_has_a_link_to_its_reason(driver: Driver, model: ScriptedOpenAI) -> None:
    model.default = Answer("filtered", finish_reason="content_filter")
    chat, _ = answered_chat(driver.client, ["Say something"])
    driver.open_as_operator(f"#/transcripts/{chat}")
    give_reason(driver)
    silent = driver.page.locator(".bubble[data-silent]")
    expect(silent).to_contain_text("No answer.")
    expect(silent.get_by_role("link")).to_have_attribute("href", f"#/why/{chat}/1")
    silent.get_by_role("link").click()
    driver.ready()
    driver.page.get_by_role("link", name="Read chat as operator").click()
    expect(driver.page.get_by_label("Why do you need to read this chat?")).to_be_visible()


def test_transcript_with_too_short_reason_is_not_loaded(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"])
    driver.open_as_operator(f"#/transcripts/{chat}")
    asked: list[str] = []
    driver.page.on("request", lambda request: asked.append(request.url))
    give_reason(driver, "ab")
    expect(driver.page.locator(".bubble")).to_have_count(0)
    assert not [url for url in asked if "reason=" in url]


def test_refusal_of_the_tenant_is_explained(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"])
    client, token = driver.client, driver.operator()
    client.ok("PATCH", "/v1/settings", {"operators_read_chats": False}, token=token)
    try:
        driver.open_as_operator(f"#/transcripts/{chat}")
        give_reason(driver)
        expect(driver.page.get_by_role("status")).to_contain_text("setting operators_read_chats")
        assert driver.page.locator(".bubble").count() == 0
        driver.check_looks()
    finally:
        client.ok("PATCH", "/v1/settings", {"operators_read_chats": None}, token=token)


def test_new_messages_are_read_on_demand_and_end_a_silence(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    chat, _ = answered_chat(driver.client, ["One"])
    token = driver.operator()
    driver.open_as_operator(f"#/transcripts/{chat}")
    give_reason(driver)
    bubbles = driver.page.locator(".bubble")
    expect(bubbles).to_have_count(2)
    new = {"text": "Two", "client_id": "two"}
    driver.client.ok("POST", f"/v1/chats/{chat}/messages", new, token=token)
    driver.client.ok("POST", "/local/drain")
    driver.page.get_by_role("button", name="Check for new messages").click()
    expect(bubbles).to_have_count(4)
    expect(driver.page.locator(".bubble[data-silent]")).to_have_count(0)


def test_open_and_private_chats_of_an_agent_are_listed(driver: Driver) -> None:
    _, agent = answered_chat(driver.client, ["Hello"], agent={"name": HOSTILE[:60]})
    token = driver.operator()
    group = {"kind": "group", "title": HOSTILE, "members": [{"kind": "agent", "id": agent}]}
    opened = driver.client.ok("POST", "/v1/chats", group | {"visibility": "open"}, token=token)
    driver.open_as_operator(f"#/transcripts/agent/{agent}")
    page = driver.page
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(1)
    link = rows.first.get_by_role("link")
    expect(link).to_have_attribute("href", f"#/transcripts/{opened['id']}")
    page.get_by_label("Person", exact=True).select_option("operator")
    page.get_by_role("button", name="List chats").click()
    private = rows.filter(has_text="Private")
    expect(private).to_have_count(1)
    driver.check_looks()
    private.get_by_role("link").press("Enter")
    expect(page.get_by_label("Why do you need to read this chat?")).to_be_visible()


def test_transcript_error_is_shown_as_plain_text(driver: Driver) -> None:
    error = {"code": "unavailable", "detail": HOSTILE, "details": {}}

    def fail(route: Route) -> None:
        route.fulfill(status=503, json=error)

    driver.page.route("**/v1/transcripts/**", fail)
    driver.open_as_operator("#/transcripts/chat_x")
    give_reason(driver)
    expect(driver.page.get_by_role("status")).to_have_text(HOSTILE)
