"""The page Sharing: the rules as a table and a list, and who may be told what."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.console.conftest import stack
from tests.console.driver import HOSTILE, Driver
from tests.support.scripted_openai import ScriptedOpenAI

RULES = "/v1/sharing-rules"


@pytest.fixture(scope="module")
def _url(_model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stack of its own, whose rules cover no chats of other tests."""
    with stack(_model, tmp_path_factory.mktemp("sharing")) as url:
        yield url


def test_sharing_rules_are_created_changed_deleted_and_listed(driver: Driver) -> None:
    client, token, page = driver.client, driver.operator(), driver.page
    earlier = len(client.ok("GET", f"{RULES}/versions", token=token)["items"])  # of the other test
    driver.open_as_operator("#/sharing")
    expect(page.locator("main")).to_contain_text("No sharing rules yet.")
    page.get_by_text("New rule").click()
    page.get_by_label("Rule name").fill("Ward")
    page.get_by_label("Reason").fill(HOSTILE)
    said, told = (
        page.get_by_label(name, exact=True)
        for name in ("Share messages from (role)", "With (role)")
    )
    said.fill("nurse")
    told.fill("doctor")
    page.get_by_label("Only if both people").check()
    driver.check_looks()
    page.get_by_role("button", name="Create rule").click()
    expect(page.locator("main")).to_contain_text("Rule created.")
    cells = page.get_by_role("region", name="Who can learn what").locator("tr")
    expect(cells.first.locator("th").nth(1)).to_have_text("doctor")
    expect(cells.nth(1).locator("th")).to_have_text("nurse")
    expect(cells.nth(1).locator("td")).to_contain_text("Ward same subject only")
    [rule] = client.ok("GET", RULES, token=token)["items"]
    assert (rule["from"], rule["to"]) == ({"role": "nurse"}, {"role": "doctor"})
    assert rule["same_subject"] is True

    rules = page.locator(".card", has=page.get_by_role("heading", name="Rules", exact=True))
    rules.get_by_text("Change", exact=True).click()
    rules.get_by_label("Rule name").first.fill("Night ward")
    rules.get_by_label("Ends").first.fill("2099-01-01T08:00")
    rules.get_by_role("button", name="Save").click()
    expect(rules.get_by_role("heading", name="Night ward")).to_be_visible()
    expect(rules.locator("time").nth(1)).to_contain_text("1 Jan 2099")
    rules.get_by_text("Delete", exact=True).click()
    rules.get_by_role("button", name="Delete the rule Night ward").click()
    expect(cells).to_have_count(0)
    assert client.ok("GET", RULES, token=token)["items"] == []
    page.get_by_text("Show versions").click()
    history = page.locator(".card", has=page.get_by_role("heading", name="History"))
    expect(history.locator(".items > li")).to_have_count(earlier + 3)
    history.get_by_text("1 rule").first.click()
    expect(history).to_contain_text(
        "Night ward: What people with the role nurse say can be shared with people with"
    )
    driver.check_looks()
    driver.check_inert()


def test_person_keeps_a_conversation_private_and_withdraws_shared_words(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    client, token, page = driver.client, driver.operator(), driver.page
    nanny = {"name": "Nanny", "reply_mode": "text", "listed": True}
    agent = client.ok("POST", "/v1/agents", nanny, token=token)
    chats = {}
    for name, role in (("Emma", "daughter"), ("Tom", "father")):
        user = {"id": name.lower(), "name": name, "roles": [{"role": role}]}
        client.ok("POST", "/v1/users", user, token=token)
        members = [{"kind": "agent", "id": agent["id"]}]
        body = {"kind": "direct", "members": members, "client_id": f"console-{agent['id']}"}
        own = client.token(name.lower())
        chats[name] = own, client.ok("POST", "/v1/chats", body, token=own)["id"]
    family = {"from": {"role": "daughter"}, "to": {"role": "father"}, "reason": "They share"}
    rule = client.ok("POST", RULES, {"name": "Family", **family}, token=token)

    lesson = "The piano lesson with Mrs Okafor moved to Thursday at five"

    def says(name: str, text: str) -> None:
        own, chat = chats[name]
        path = f"/v1/chats/{chat}/messages"
        client.ok("POST", path, {"text": text, "client_id": uuid4().hex}, token=own)
        client.ok("POST", "/local/drain")

    says("Emma", "Hello there, how are you?")
    says("Emma", lesson)
    client.ok("POST", "/local/clock", {"advance_seconds": 16 * 60})
    client.ok("POST", "/local/drain")
    says("Tom", "When is the piano lesson with Mrs Okafor?")

    explains_what_may_be_told(driver, chats["Emma"][1])
    driver.open("#/phone/app")
    page.get_by_label("Chat as").select_option(label="Emma")
    page.get_by_label("Chat", exact=True).select_option(label="Nanny")
    bar = page.get_by_role("group", name="Sharing of this conversation")
    expect(bar).to_contain_text("A sharing rule lets agents share what you say here.")
    driver.send("I am tired of the piano")
    expect(page.locator(".bubble.theirs")).to_have_count(3, timeout=20_000)
    bar.get_by_role("button", name="Keep this conversation private").click()
    expect(bar).to_contain_text("This conversation is private.")
    page.get_by_text("What agents can share with others", exact=True).click()
    main = page.locator("main")
    expect(main).to_contain_text("may be told to everybody with the role father: They share")
    expect(main).to_contain_text('Your messages 4 in "Nanny" were shared with Tom.')
    page.get_by_text("Stop sharing earlier messages").click()
    page.get_by_label("First message").select_option(label=lesson)
    driver.check_looks()
    page.get_by_role("button", name="Stop sharing").click()
    expect(main).to_contain_text("Agents no longer share these messages.")
    turns_it_off(driver)
    client.ok("DELETE", f"{RULES}/{rule['id']}", token=token)


def turns_it_off(driver: Driver) -> None:
    """Tom sees by which rule agents tell him what others said, and turns it off."""
    page, main = driver.page, driver.page.locator("main")
    page.get_by_label("Chat as").select_option(label="Tom")
    page.get_by_text("What agents can share with others", exact=True).click()
    expect(main).to_contain_text("What everybody with the role daughter tells agents privately")
    page.get_by_role("button", name="Turn off for me").click()
    expect(main).to_contain_text(
        "You turned this off: agents don't share anything with you under these rules."
    )
    own = driver.client.token("tom")
    assert driver.client.ok("GET", "/v1/me/sharing", token=own)["receives"] is False
    driver.check_looks()


def explains_what_may_be_told(driver: Driver, chat: str) -> None:
    """Ask who may see an item and a message."""
    page = driver.page
    driver.open_as_operator("#/sharing")
    explains_an_item(driver)
    driver.open(f"#/why/{chat}/4")
    for name, answer in (("Tom", "Yes. A sharing rule lets agents"), ("Emma", "Yes. All readers")):
        if name == "Tom":
            page.get_by_text("Check a person").click()
        page.get_by_label("Person").select_option(label=name)
        page.get_by_label("Reason (required for private chats)").fill("Support case 4711")
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.locator("main")).to_contain_text(answer)
    driver.check_looks()
    driver.check_inert()


def explains_an_item(driver: Driver) -> None:
    """Ask who may see a memory that an operator makes for everybody."""
    token, page = driver.operator(), driver.page
    agents = driver.client.ok("GET", "/v1/agents", token=token)["items"]
    agent = next(each for each in agents if each["name"] == "Nanny")
    new = {"text": HOSTILE, "kind": "core"}
    memory = driver.client.ok("POST", f"/v1/agents/{agent['id']}/memories", new, token=token)
    card = page.locator(".card", has=page.get_by_role("heading", name="Who can see an item"))
    card.get_by_text("Check an item").click()
    card.get_by_label("Agent", exact=True).select_option(label="Nanny")
    card.get_by_label("Item ID").fill(memory["id"])
    card.get_by_label("Person").select_option(label="Tom")
    card.get_by_role("button", name="Check", exact=True).click()
    expect(card).to_contain_text("Yes. Everyone in the tenant can see it")
    card.get_by_label("Item ID").fill("mem_unknown")
    card.get_by_role("button", name="Check", exact=True).click()
    expect(card).to_contain_text("memory not found")
