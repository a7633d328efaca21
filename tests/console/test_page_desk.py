"""The page Desk: the queue, taking a chat over, answering there, and handing it back."""

from typing import Any

from playwright.sync_api import Locator, expect

from tests.console.driver import HOSTILE, Driver, answered_chat
from tests.support.own_tools import BOOK
from tests.support.scripted_openai import Answer, ScriptedOpenAI

REASON = "?reason=The+complaint+4711"
PERSON = "parcel-ann"
WAIT_MS = 15_000  # the page looks every few seconds


def desk_of(driver: Driver, chat: str, who: str = "operator") -> Any:
    """Take a chat over by the API, as somebody of the team."""
    token = driver.client.token(who, "chat admin")
    body = {"holder": "me", "name": who.title()}
    return driver.client.ok("PUT", f"/v1/chats/{chat}/desk{REASON}", body, token=token)


def hand_back(driver: Driver, chat: str, who: str) -> None:
    token = driver.client.token(who, "chat admin")
    driver.client.ok("DELETE", f"/v1/chats/{chat}/desk", {"briefing": ""}, token=token)


def ask(driver: Driver, chat: str) -> None:
    """Put a chat on the desk by the API."""
    driver.client.ok("POST", f"/v1/chats/{chat}/desk{REASON}", {}, token=driver.operator())


def case(driver: Driver, person: str, text: str = "Hello") -> str:
    """Put a chat of a new person on the desk; return its id."""
    chat, _ = answered_chat(driver.client, [text], person=person)
    ask(driver, chat)
    driver.client.drain()
    return chat


def row_of(driver: Driver, chat: str) -> Locator:
    return driver.page.get_by_role("region", name="Queue").locator(f'a[href="#/desk/{chat}"]')


def request_of(driver: Driver) -> Locator:
    return driver.page.get_by_role("region", name="Request and people")


def test_holder_takes_a_private_chat_over_answers_and_hands_it_back(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Where is my parcel?"], person=PERSON)
    own, page = driver.client.token(PERSON), driver.page
    driver.open_as_operator(f"#/transcripts/{chat}")
    driver.give_reason()
    page.get_by_text("Step in").click()
    driver.check_looks()
    page.get_by_role("button", name="Add to the desk").click()
    expect(request_of(driver)).to_contain_text("Waiting")
    driver.client.ok("POST", "/local/drain")  # the person is told
    page.get_by_label("Your name").fill("Mia")
    page.get_by_role("button", name="Take over").click()
    rows = page.locator(".bubble")
    expect(rows).to_have_count(3)
    expect(request_of(driver)).to_contain_text("Taken over by you")

    page.get_by_label("Reply as the team").fill(HOSTILE)
    page.keyboard.press("Enter")
    expect(rows.last).to_contain_text(HOSTILE)
    expect(rows.last.locator(".sender")).to_have_text("Mia Team")
    message = {"text": "Thank you, Mia", "client_id": "thanks"}
    driver.client.ok("POST", f"/v1/chats/{chat}/messages", message, token=own)
    expect(rows.last).to_contain_text("Thank you, Mia", timeout=WAIT_MS)
    driver.check_looks()
    driver.check_inert()

    page.get_by_label("Briefing for the agents").fill("The parcel comes on Friday.")
    page.get_by_role("button", name="Hand back").click()
    expect(page.get_by_role("status").first).to_have_text("You handed the chat back.")
    driver.client.ok("POST", "/local/drain")
    page.evaluate(f"location.hash = '#/why/{chat}/4'")
    expect(page.locator(".facts").first).to_contain_text("Mia Team")

    page.evaluate(f"location.hash = '#/chats/{chat}'")
    page.get_by_role("button", name="Sign out").click()
    driver.errors.clear()  # the operator is not in the chat
    driver.sign_in_again(PERSON)
    expect(rows.nth(2).locator(".sender")).to_have_text("Mia Team")
    expect(rows).to_have_count(5)  # the agent answers what came last


def test_queue_is_live_and_only_one_person_holds_a_chat(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"], agent={"name": HOSTILE[:60]}, person=PERSON)
    page = driver.page
    driver.open_as_operator("#/desk")
    expect(row_of(driver, chat)).to_have_count(0)
    desk_of(driver, chat, "tom")
    row = row_of(driver, chat)
    expect(row).to_contain_text("Taken over by Tom", timeout=WAIT_MS)
    expect(row).to_contain_text("Private")
    driver.check_looks()
    row.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Tom has taken over this chat")
    driver.check_looks()

    hand_back(driver, chat, "tom")
    expect(page.get_by_role("heading", name="Not on the desk")).to_be_visible(timeout=WAIT_MS)
    driver.give_reason()
    desk_of(driver, chat, "eve")
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_role("alert")).to_contain_text("Eve has taken over this chat")
    hand_back(driver, chat, "eve")


def test_chat_that_waits_is_dismissed(driver: Driver) -> None:
    chat = case(driver, PERSON)
    driver.open_as_operator("#/desk")
    row = row_of(driver, chat)
    expect(row).to_contain_text("Coach")
    row.click()
    driver.page.get_by_role("button", name="Dismiss").click()
    expect(driver.page.get_by_role("status").first).to_have_text("Request dismissed.")
    expect(row).to_have_count(0, timeout=WAIT_MS)


def test_words_of_the_agent_that_asks_are_shown_to_the_holder_only(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    asked = {"reason": "A refund", "summary": f"The parcel is lost. {HOSTILE}"}
    idle_model.then(Answer(tool_calls=[("ask_a_person", asked)]))
    coach = {"name": "Coach", "enabled_tools": ["ask_a_person"]}
    chat, _ = answered_chat(driver.client, ["I want a human"], agent=coach, person=PERSON)
    page = driver.page
    driver.open_as_operator("#/desk")
    row = row_of(driver, chat)
    expect(row).to_contain_text("Waiting")
    expect(row).to_contain_text("Requested by an agent: Coach")
    row.click()
    driver.give_reason()
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    expect(page.get_by_text("The parcel is lost.")).to_have_count(0)
    page.get_by_role("button", name="Take over").click()
    expect(page.locator("blockquote").first).to_have_text(asked["summary"])
    driver.check_inert()
    hand_back(driver, chat, "operator")


def test_holder_loses_a_chat_that_goes_back_by_itself(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"])
    desk_of(driver, chat)
    driver.open_as_operator(f"#/desk/{chat}")
    expect(driver.page.locator(".bubble")).to_have_count(2)
    hand_back(driver, chat, "operator")
    expect(driver.page.get_by_role("status").first).to_have_text(
        "This chat is no longer assigned to you.", timeout=WAIT_MS
    )


def test_drafts_fill_the_boxes_below_the_words_of_the_holder(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"])
    desk_of(driver, chat)
    idle_model.default = Answer(HOSTILE)
    page = driver.page
    driver.open_as_operator(f"#/desk/{chat}")
    box = page.get_by_label("Reply as the team")
    box.fill("Hello Ann,")
    page.get_by_role("button", name="Draft", exact=True).click()
    expect(box).to_have_value(f"Hello Ann,\n\n{HOSTILE}")
    page.get_by_role("button", name="Draft a briefing").click()
    expect(page.get_by_label("Briefing for the agents")).to_have_value(HOSTILE)
    page.get_by_role("button", name="Summarize").click()
    expect(page.locator("blockquote")).to_have_text(HOSTILE)
    driver.check_looks()
    driver.check_inert()
    assert page.locator(".bubble").count() == 2  # a draft is not sent by itself
    hand_back(driver, chat, "operator")


def test_call_that_waits_for_an_operator_is_counted_read_and_refused(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    client, token, page = driver.client, driver.operator(), driver.page
    name = "desk_booking"
    tool = BOOK | {"name": name, "approval": "operator"}
    client.ok("POST", "/v1/tools", tool, token=token)
    idle_model.then(Answer(tool_calls=[(name, {"day": HOSTILE})]))
    coach = {"name": "Booker", "enabled_tools": [name]}
    answered_chat(client, ["A table, please"], agent=coach, person=PERSON)
    driver.open_as_operator("#/home")
    badge = page.get_by_role("navigation", name="Pages").locator(".badge:visible")
    expect(badge).to_contain_text("waiting")
    driver.go("Desk")
    driver.check_looks()
    page.get_by_role("link", name=name).click()
    driver.give_reason()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text(HOSTILE[:20])
    driver.check_looks()
    driver.check_inert()
    page.get_by_role("button", name="Refuse").click()
    expect(page.get_by_role("status").filter(has_text="Booker doesn't make")).to_be_visible()
    client.drain()
    driver.go("Desk")
    expect(page.get_by_role("link", name=name)).to_have_count(0)


def test_case_is_read_before_it_is_taken_over_and_the_reading_is_audited(driver: Driver) -> None:
    chat, page = case(driver, "parcel-eva", f"Where is it? {HOSTILE}"), driver.page
    driver.open_as_operator("#/desk")
    row_of(driver, chat).click()
    reason = page.get_by_label("Why do you need to read this chat?")
    expect(reason).to_be_focused()
    expect(reason).to_have_value("Case at the desk: Added by an operator")
    expect(page.locator(".bubble")).to_have_count(0)
    driver.check_looks()
    reason.press("Enter")
    expect(page.locator(".bubble").first).to_contain_text("Where is it?")
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    expect(row_of(driver, chat)).to_contain_text("Waiting")
    driver.check_looks()
    driver.check_inert()
    audited = driver.client.ok("GET", "/v1/audit?limit=100", token=driver.operator())["items"]
    [entry] = [
        each
        for each in audited
        if each["route"] == "GET /v1/transcripts/{chat_id}" and each["ids"]["chat_id"] == chat
    ]
    assert entry["reason"] == "Case at the desk: Added by an operator"


def test_desk_case_shows_its_people_with_numbers_and_links(driver: Driver) -> None:
    person = {"id": "parcel-kim", "name": "Kim Lee", "phones": ["+15005550178"]}
    driver.client.ok("POST", "/v1/users", person, token=driver.operator())
    chat = case(driver, "parcel-kim")
    driver.open_as_operator(f"#/desk/{chat}")
    beside = request_of(driver)
    expect(beside).to_contain_text("+15005550178")
    expect(beside.get_by_role("link", name="Open this person")).to_have_attribute(
        "href", "#/people/parcel-kim"
    )


def test_menu_counts_the_cases_that_wait(driver: Driver) -> None:
    chat = case(driver, "parcel-pat")
    driver.open_as_operator("#/desk")
    waiting = row_of(driver, chat).page.locator(".queue li", has_text="Waiting")
    badge = driver.page.get_by_role("navigation", name="Pages").locator(".badge:visible")
    expect(badge).to_have_text(f"{waiting.count()} waiting")
    before = waiting.count()
    desk_of(driver, chat, "tom")
    expect(row_of(driver, chat)).to_contain_text("Taken over by Tom", timeout=WAIT_MS)
    if before > 1:
        expect(badge).to_have_text(f"{before - 1} waiting")
    else:
        expect(badge).to_have_count(0)
    hand_back(driver, chat, "tom")


def test_canned_answer_is_made_and_chosen_by_name_and_from_the_list(driver: Driver) -> None:
    page, person = driver.page, {"id": "parcel-lou", "name": "Lou"}
    driver.client.ok("POST", "/v1/users", person, token=driver.operator())
    chat = case(driver, "parcel-lou")
    driver.open_as_operator("#/desk")
    page.get_by_role("link", name="Canned answers").click()
    for name, text in (("hours", "Hello {name}, we open at 9."), ("hostile", HOSTILE)):
        page.get_by_label("Short name").fill(name)
        page.get_by_label("Text", exact=True).last.fill(text)
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", name=f"/{name}")).to_be_visible()
    driver.check_looks()
    driver.check_inert()

    desk_of(driver, chat)
    row_of(driver, chat).click()
    box = page.get_by_label("Reply as the team")
    box.click()
    page.keyboard.type("/ho")
    options = page.get_by_role("listbox", name="Canned answers").get_by_role("option")
    expect(options).to_have_count(2)
    driver.check_looks()
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(box).to_have_value("Hello Lou, we open at 9.")
    expect(page.locator(".bubble")).to_have_count(3)  # nothing was sent

    box.fill("")
    page.get_by_text("Canned answers", exact=True).last.click()
    page.get_by_role("button", name="/hostile").click()
    expect(box).to_have_value(HOSTILE)
    driver.check_inert()
    box.fill("")
    hand_back(driver, chat, "operator")
    page.get_by_role("link", name="Canned answers").first.click()
    for name in ("hours", "hostile"):
        page.get_by_role("button", name=f"Delete /{name}").click()
        expect(page.get_by_role("heading", name=f"/{name}")).to_have_count(0)


def test_keys_open_take_over_reply_and_hand_back(driver: Driver) -> None:
    chats = [case(driver, f"key-{name}") for name in ("ada", "bob")]
    page, press = driver.page, driver.page.keyboard.press
    driver.open_as_operator("#/desk")
    links = page.locator(".queue a")
    for _ in range(links.count()):
        press("k")
    expect(links.first).to_be_focused()
    while not row_of(driver, chats[0]).evaluate("link => link === document.activeElement"):
        press("j")
    press("ArrowDown")
    press("ArrowUp")
    expect(row_of(driver, chats[0])).to_be_focused()
    press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    driver.check_looks()
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    press("Enter")
    expect(page.get_by_label("Why do you need to read this chat?")).to_be_focused()
    press("Enter")
    expect(page.locator(".bubble").first).to_be_visible()
    expect(page.locator("h1")).to_be_focused()
    press("t")
    box = page.get_by_label("Reply as the team")
    expect(box).to_be_focused()
    page.keyboard.type("Hello")
    press("Escape")
    press("h")
    expect(box).to_be_focused()  # the reply is not sent yet
    press("Enter")
    expect(box).to_have_value("")
    expect(page.locator(".bubble").last).to_contain_text("Hello")
    press("Escape")
    press("r")
    expect(box).to_be_focused()
    press("Escape")
    press("h")
    expect(page.get_by_role("status").first).to_have_text("You handed the chat back.")
    press("?")
    page.get_by_label("Keyboard shortcuts are on").press("Space")
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_case_that_may_not_be_read_can_still_be_taken_over(driver: Driver) -> None:
    chat, page = case(driver, "parcel-max"), driver.page
    refusal = {"code": "forbidden", "detail": "Operators don't read chats here.", "details": {}}
    page.route("**/v1/transcripts/**", lambda route: route.fulfill(status=403, json=refusal))
    driver.open_as_operator(f"#/desk/{chat}")
    page.get_by_role("button", name="Read the chat").click()
    expect(page.get_by_role("alert")).to_contain_text("Operators don't read chats here.")
    driver.check_looks()
    page.get_by_role("button", name="Take over").click()
    expect(page.locator(".bubble").first).to_be_visible()
    hand_back(driver, chat, "operator")
