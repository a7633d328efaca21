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


def row_of(driver: Driver, chat: str) -> Locator:
    link = driver.page.locator(f'a[href="#/desk/{chat}"]')
    return driver.page.locator("tbody tr").filter(has=link)


def test_holder_takes_a_private_chat_over_answers_and_hands_it_back(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Where is my parcel?"], person=PERSON)
    own, page = driver.client.token(PERSON), driver.page
    driver.sign_in(f"#/transcripts/{chat}")
    driver.give_reason()
    page.get_by_text("Step in").click()
    driver.check_looks()
    page.get_by_role("button", name="Add to the desk").click()
    expect(page.locator(".facts")).to_contain_text("Waiting")
    driver.client.ok("POST", "/local/drain")  # the person is told
    page.get_by_label("Your name").fill("Mia")
    page.get_by_role("button", name="Take over").click()
    rows = page.locator(".bubble")
    expect(rows).to_have_count(3)
    expect(page.locator(".facts")).to_contain_text("Taken over by you")

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
    driver.sign_in("#/desk")
    expect(row_of(driver, chat)).to_have_count(0)
    desk_of(driver, chat, "tom")
    row = row_of(driver, chat)
    expect(row).to_contain_text("Taken over by Tom", timeout=WAIT_MS)
    expect(row).to_contain_text("Private")
    driver.check_looks()
    row.get_by_role("link").press("Enter")
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
    chat, _ = answered_chat(driver.client, ["Hello"], person=PERSON)
    driver.client.ok("POST", f"/v1/chats/{chat}/desk{REASON}", {}, token=driver.operator())
    driver.sign_in("#/desk")
    row = row_of(driver, chat)
    expect(row).to_contain_text("Coach")
    row.get_by_role("button", name="Dismiss").click()
    expect(row).to_have_count(0)


def test_words_of_the_agent_that_asks_are_shown_to_the_holder_only(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    asked = {"reason": "A refund", "summary": f"The parcel is lost. {HOSTILE}"}
    idle_model.then(Answer(tool_calls=[("ask_a_person", asked)]))
    coach = {"name": "Coach", "enabled_tools": ["ask_a_person"]}
    chat, _ = answered_chat(driver.client, ["I want a human"], agent=coach, person=PERSON)
    page = driver.page
    driver.sign_in("#/desk")
    row = row_of(driver, chat)
    expect(row).to_contain_text("Waiting")
    expect(row).to_contain_text("Requested by an agent: Coach")
    row.get_by_role("link").click()
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
    driver.sign_in(f"#/desk/{chat}")
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
    driver.sign_in(f"#/desk/{chat}")
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
    driver.sign_in("#/home")
    badge = page.get_by_role("navigation").locator(".badge:visible")
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
