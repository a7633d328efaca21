"""The page People: a person's record with its sources, export, and erasure up to its proof."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.console.conftest import stack
from tests.console.driver import HOSTILE, Driver
from tests.support.scripted_openai import ScriptedOpenAI

PHONE = "+15005550177"
HOUR = 3600
WHY = "A complaint of the member"


@pytest.fixture(scope="module")
def _url(_model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stack of its own, whose clock may be turned."""
    with stack(_model, tmp_path_factory.mktemp("people")) as url:
        yield url


def person(driver: Driver, user_id: str, **fields: object) -> None:
    """Create a person."""
    new = {"id": user_id, "name": user_id, **fields}
    driver.client.ok("POST", "/v1/users", new, token=driver.operator())


def chat_of(driver: Driver, user_id: str, text: str) -> str:
    """Have a person write to a new agent that keeps profiles; return the chat's id."""
    client = driver.client
    agent = client.ok(
        "POST",
        "/v1/agents",
        {
            "name": HOSTILE[:60],
            "enabled_tools": ["update_profile"],
            "reply_mode": "text",
            "listed": True,
        },
        token=driver.operator(),
    )
    token = client.token(user_id)
    body = {"kind": "direct", "members": [{"kind": "agent", "id": agent["id"]}]}
    chat: str = client.ok("POST", "/v1/chats", body, token=token)["id"]
    path = f"/v1/chats/{chat}/messages"
    client.ok("POST", path, {"text": text, "client_id": "1"}, token=token)
    client.ok("POST", "/local/drain")
    return chat


def test_people_are_found_by_name_id_and_number(driver: Driver) -> None:
    person(driver, "usr_found", name=HOSTILE, phones=[PHONE])
    person(driver, "usr_other")
    driver.open_as_operator("#/people")
    page = driver.page
    rows = page.get_by_role("region", name="People", exact=True).locator("tbody tr")
    for text in ("IMG SRC", "usr_found", PHONE, "1 500 555 0177"):
        page.get_by_label("Name or phone number").fill(text)
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("status").first).to_have_text("1 person")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text(HOSTILE)
    page.get_by_label("Name or phone number").fill("nobody at all")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("No people found.")
    page.get_by_label("Name or phone number").fill("")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="usr_other").click()
    driver.ready()
    expect(page.locator("h1")).to_have_text("usr_other")


def test_profile_shows_sources_and_an_agents_change_is_undone(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    person(driver, "usr_profile", profile={"goals": "Rest"})
    idle_model.call_tools(("update_profile", {"field": "goals", "value": HOSTILE}))
    chat = chat_of(driver, "usr_profile", f"My goal is {HOSTILE}")
    client = driver.client
    zone = {"time_zone": "Europe/Rome"}
    client.ok("PATCH", "/v1/me", zone, token=client.token("usr_profile"))
    driver.open_as_operator("#/people/usr_profile")
    page = driver.page
    profile = page.get_by_role("region", name="Profile", exact=True)
    page.get_by_label("Why do you need to read this person's profile?").fill(WHY)
    page.keyboard.press("Enter")
    expect(profile.locator("tr", has_text="goals")).to_contain_text("Tool update_profile")
    expect(profile.locator("tr", has_text="goals")).to_contain_text("messages 1")
    expect(profile.locator("tr", has_text="goals").locator("td").first).to_have_text(HOSTILE)
    expect(profile.locator("tr", has_text="time_zone")).to_contain_text("The person (in the app)")
    link = profile.get_by_role("link", name="Chat")
    expect(link).to_have_attribute("href", f"#/transcripts/{chat}")
    driver.check_looks()
    page.get_by_role("button", name="Undo the change to goals").press("Enter")
    expect(page.locator("main")).to_contain_text("Restored the previous value of goals.")
    expect(profile.locator("tr", has_text="goals").locator("td").first).to_have_text("Rest")
    expect(page.get_by_role("region", name="Profile changes")).to_contain_text("Undone")
    stored = client.ok("GET", f"/v1/users/usr_profile?reason={quote(WHY)}", token=driver.operator())
    assert stored["profile"]["goals"] == "Rest"
    driver.check_inert()


def test_record_and_roles_of_a_person_are_changed(driver: Driver) -> None:
    person(driver, "usr_role", time_zone="Europe/Rome")
    ward = "Rina <script>alert(4)</script>"
    person(driver, "usr_ward", name=ward)
    driver.open_as_operator("#/people/usr_role")
    page = driver.page
    page.get_by_text("Edit name or time zone").click()
    page.get_by_label("Name", exact=True).fill("Rosa Diaz")
    page.get_by_label("Time zone").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("Rosa Diaz")
    page.get_by_text("Add a role").click()
    page.get_by_label("Role", exact=True).fill("nurse")
    page.get_by_label("Subject (optional)").select_option(label=ward)
    roles = page.locator(".card", has=page.get_by_role("heading", name="Roles"))
    page.get_by_role("button", name="Add role").click()
    expect(roles.locator("li span").first).to_have_text(f"nurse of {ward}")
    driver.check_looks()
    driver.check_inert()
    stored = driver.client.ok("GET", "/v1/users/usr_role", token=driver.operator())
    assert (stored["name"], stored["time_zone"]) == ("Rosa Diaz", None)
    assert stored["roles"] == [{"role": "nurse", "subject": "usr_ward"}]
    roles.get_by_role("button", name="Remove the role nurse").click()
    expect(roles).to_contain_text("This person has no roles.")


def test_export_is_saved_as_one_file(driver: Driver, tmp_path: Path) -> None:
    person(driver, "usr_export")
    chat = chat_of(driver, "usr_export", HOSTILE)
    driver.open_as_operator("#/people/usr_export")
    page = driver.page
    links = page.get_by_role("region", name="Direct chats").get_by_role("link")
    expect(links).to_have_attribute("href", f"#/transcripts/{chat}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as file").click()
    assert download.value.suggested_filename == "export-usr_export.json"
    download.value.save_as(tmp_path / "export.json")
    saved = json.loads((tmp_path / "export.json").read_text(encoding="utf-8"))
    assert saved["user"]["id"] == "usr_export"
    assert saved.keys() >= {"usage", "deliveries", "invitations", "consents", "kept"}
    assert [each["chat_id"] for each in saved["chats"]] == [chat]
    assert HOSTILE in [each["text"] for each in saved["messages"]]
    expect(page.locator("main")).to_contain_text("Exported 1 chat and")


def test_list_of_people_shows_the_erasures(driver: Driver) -> None:
    client, token = driver.client, driver.operator()
    for number in range(3):
        person(driver, f"usr_listed_{number}")
        client.ok("DELETE", f"/v1/users/usr_listed_{number}", token=token)
    driver.open_as_operator("#/people")
    page = driver.page
    rows = page.get_by_role("region", name="Erasures").locator("tbody tr")
    expect(rows.first.locator("[title=usr_listed_2]")).to_be_visible()
    expect(rows.first).to_contain_text("operator")
    driver.check_looks()
    listed = page.locator("[title=usr_listed_1]")
    rows.filter(has=listed).get_by_role("link").click()
    driver.ready()
    expect(page.locator("h1")).to_have_text("Erasure of a person")


def test_erasure_needs_the_name_and_is_followed_up_to_its_proof(driver: Driver) -> None:
    person(driver, "usr_erased", name=HOSTILE)
    chat_of(driver, "usr_erased", "Forget me")
    driver.open_as_operator("#/people/usr_erased")
    page = driver.page
    page.get_by_text("Erase this person").click()
    expect(page.get_by_role("region", name="Erasure preview")).to_contain_text("messages")
    expect(page.locator("main")).to_contain_text("No texts by others contain the full name.")
    confirm = page.get_by_label("To confirm, type")
    confirm.fill("usr_other")
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.locator("main")).to_contain_text("Nothing was erased.")
    assert driver.client.ok("GET", "/v1/users/usr_erased", token=driver.operator())
    confirm.fill(HOSTILE)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Erasure of a person")
    expect(page.locator("main")).to_contain_text("Waiting for the second sweep", timeout=30_000)
    driver.check_looks()
    driver.client.ok("POST", "/local/clock", {"advance_seconds": HOUR})
    expect(page.locator("main")).to_contain_text("The erasure is complete.", timeout=30_000)
    expect(page.get_by_role("region", name="Erased items by kind")).to_contain_text("messages")
    driver.check_looks()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save report").click()
    assert download.value.suggested_filename.startswith("era_")
    assert driver.client.call("GET", "/v1/users/usr_erased", token=driver.operator()).status == 404


def test_preview_of_an_erasure_shows_named_texts_and_asks_what_happens_to_them(
    driver: Driver,
) -> None:
    client = driver.client
    person(driver, "usr_named", name=HOSTILE)
    person(driver, "usr_friend")
    friend, token = client.token("usr_friend"), client.token("usr_named")
    body = {"kind": "group", "members": [{"kind": "user", "id": "usr_friend"}]}
    chat: str = client.ok("POST", "/v1/chats", body, token=token)["id"]
    client.ok("POST", f"/v1/chats/{chat}/invitation", {"accept": True}, token=friend)
    text = {"text": f"Ask {HOSTILE}", "client_id": "1"}
    client.ok("POST", f"/v1/chats/{chat}/messages", text, token=friend)
    driver.open_as_operator("#/people/usr_named")
    page = driver.page
    page.get_by_text("Erase this person").click()
    texts = page.get_by_role("region", name="Texts by others that contain the full name")
    expect(texts).to_contain_text(HOSTILE)
    expect(texts.locator(f'a[href="#/transcripts/{chat}"]')).to_be_visible()
    driver.check_looks()
    page.get_by_label("What to do with these texts").select_option("replace")
    page.get_by_label("To confirm, type").fill(HOSTILE)
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.locator("h1")).to_have_text("Erasure of a person")
    path = page.url.partition("/erasure/")[2]
    erasure = client.ok("GET", f"/v1/erasures/{path}", token=driver.operator())
    assert erasure["named_texts"] == "replace"
    driver.check_inert()


def test_unknown_erasure_shows_an_error(driver: Driver) -> None:
    driver.open_as_operator("#/people/usr_x/erasure/era_none")
    expect(driver.page.get_by_role("alert")).to_be_visible()
    driver.errors.clear()  # the console logs the error itself


def test_unknown_person_shows_an_error(driver: Driver) -> None:
    driver.open_as_operator("#/people/usr_nobody")
    expect(driver.page.get_by_role("alert")).to_be_visible()
    driver.errors.clear()  # the console logs the error itself


def test_record_says_whether_the_name_was_given_or_chosen(driver: Driver) -> None:
    client = driver.client
    for user_id in ("usr_given", "usr_chosen"):
        person(driver, user_id)
    client.ok("PATCH", "/v1/me", {"name": "Alice Ward"}, token=client.token("usr_chosen"))
    driver.open_as_operator("#/people/usr_given")
    record = driver.page.locator(".facts").first
    expect(record).to_contain_text("Set by the token")
    driver.page.evaluate("location.hash = '#/people/usr_chosen'")
    expect(record).to_contain_text("Chosen by the person")
    driver.check_looks()


def test_choosing_among_people_with_the_same_name_shows_their_ids(driver: Driver) -> None:
    for user_id in ("usr_twin_a", "usr_twin_b"):
        person(driver, user_id, name="Rina Cho")
    driver.open_as_operator("#/people/usr_twin_a")
    driver.page.get_by_text("Add a role").click()
    driver.page.get_by_label("Subject (optional)").select_option(label="Rina Cho (usr_twin_b)")
    driver.check_looks()
