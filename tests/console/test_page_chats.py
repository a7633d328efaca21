"""The page Chats: the list, and one chat with its messages."""

import json

from playwright.sync_api import Route, expect

from tests.console.driver import HOSTILE, Driver
from tests.support.scripted_openai import Answer, ScriptedOpenAI

MANY = 10_000
MAX_NODES = 120
NOW = "2026-02-18T12:00:00.000Z"


def open_new_chat(driver: Driver, title: str) -> None:
    page = driver.page
    page.get_by_text("New chat").click()
    page.get_by_label("Title (optional)").fill(title)
    page.get_by_role("button", name="Open the chat").click()
    expect(page.locator(".detail .composer textarea")).to_be_visible()


def test_new_chat_with_an_agent_gets_an_answer(driver: Driver) -> None:
    driver.sign_in("#/chats")
    open_new_chat(driver, HOSTILE)
    expect(driver.page.locator(".detail h2")).to_have_text(HOSTILE)
    driver.send(HOSTILE)
    expect(driver.page.locator(".window .mine")).to_contain_text(HOSTILE)
    expect(driver.page.locator(".window .theirs")).to_contain_text("plank", timeout=20_000)


def test_message_with_markup_and_links_is_shown_as_text(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    answer = f"{HOSTILE} https://evil.example/x.png ![x](https://evil.example/y.png)"
    model.default = Answer(answer)
    requested: list[str] = []
    driver.page.on("request", lambda request: requested.append(request.url))
    driver.sign_in("#/chats")
    open_new_chat(driver, "Links")
    driver.send("Show me a picture")
    expect(driver.page.locator(".window .theirs .text")).to_have_text(answer, timeout=20_000)
    assert driver.page.locator(".window a, .window img, .window script").count() == 0
    assert not [url for url in requested if "evil.example" in url]


def test_failure_of_a_run_is_shown_with_its_reason(driver: Driver, model: ScriptedOpenAI) -> None:
    model.default = Answer("filtered", finish_reason="content_filter")
    driver.sign_in("#/chats")
    open_new_chat(driver, "Filtered")
    driver.send("Say something")
    expect(driver.page.locator(".activity .reason")).to_be_visible(timeout=30_000)


def test_message_that_cannot_be_sent_says_why_and_can_be_sent_again(driver: Driver) -> None:
    driver.sign_in("#/chats")
    open_new_chat(driver, "Refused")
    error = {"error": {"code": "unavailable", "message": HOSTILE, "details": {}}}
    pattern = "**/v1/chats/*/messages"
    driver.page.route(pattern, lambda route: route.fulfill(status=503, json=error))
    driver.send("once")
    expect(driver.page.locator(".window .mine")).to_contain_text(f"Not sent: {HOSTILE}")
    driver.page.unroute(pattern)
    driver.page.get_by_role("button", name="Send again").click()
    expect(driver.page.locator(".window .mine time")).to_be_visible()
    expect(driver.page.locator(".window .mine")).to_have_count(1)


def test_ten_thousand_messages_keep_the_number_of_nodes_bounded(driver: Driver) -> None:
    driver.sign_in("#/chats")
    open_new_chat(driver, "Long")

    def messages(route: Route) -> None:
        query = dict(pair.split("=") for pair in route.request.url.partition("?")[2].split("&"))
        last = int(query.get("before", MANY + 1)) - 1
        first = max(1, last - 99)
        items = [] if "after" in query else [message(seq) for seq in range(first, last + 1)]
        route.fulfill(body=json.dumps({"items": items, "next_cursor": None}))

    driver.page.route("**/messages?*", messages)
    driver.page.reload()
    driver.sign_in_again()
    rows = driver.page.locator(".window > li")
    expect(rows.last).to_contain_text(f"Message {MANY}")
    look = """() => {
      const rows = document.querySelectorAll(".window > li");
      document.querySelector(".scroller").scrollTop = 0;
      return [rows.length, rows[0].querySelector(".text").textContent];
    }"""
    for _ in range(MANY):
        nodes, top = driver.page.evaluate(look)
        assert nodes <= MAX_NODES
        if top == "Message 1":
            break
    expect(rows.first.locator(".text")).to_have_text("Message 1")
    driver.page.get_by_role("region", name="Messages").press("End")
    assert rows.count() <= MAX_NODES


def message(seq: int) -> dict[str, object]:
    """A message as the API returns it."""
    return {
        "id": f"msg_{seq}",
        "chat_id": "chat_1",
        "seq": seq,
        "kind": "text",
        "text": f"Message {seq}",
        "sender": {"kind": "user", "id": "ann", "name": "Ann"},
        "client_id": f"{seq}",
        "reply_to": None,
        "media": [],
        "run_id": None,
        "created_at": NOW,
    }
