"""The page Web chat: make one, see it, copy its snippet, and delete it."""

import hashlib
import re
from base64 import b64decode

from playwright.sync_api import expect

from tests.console.driver import HOSTILE, Driver, answered_chat

NAME = f"Lake {HOSTILE}"[:60]


def test_web_chat_is_made_previewed_and_deleted(driver: Driver) -> None:
    page = driver.page
    answered_chat(driver.client, [])
    driver.open_as_operator("#/widgets")
    page.get_by_label("Name in the header").fill(NAME)
    page.get_by_label("Origins").fill("https://shop.example, https://www.shop.example")
    page.get_by_label("Greeting").fill("Hello!")
    page.get_by_label("Suggested first messages").fill("Opening hours?\nPrices?")
    page.get_by_label("Other ways to reach you").fill("Call us | tel:+15005550006")
    page.get_by_label("Color").fill("#0a6")
    driver.check_looks()
    page.get_by_role("button", name="Create the web chat").click()
    own = page.locator("section:not(.card)").filter(has=page.get_by_role("heading", name=NAME))
    expect(own).to_contain_text("on https://shop.example, https://www.shop.example")
    driver.check_inert()

    own.get_by_text("Snippet for your page").click()
    snippet = own.locator("pre").last
    expect(snippet).to_contain_text('color="#0a6"')
    found = re.search(
        r'src="[^"]*(/widget/[^"]+)" integrity="sha384-([^"]+)"', snippet.inner_text()
    )
    assert found is not None
    script = page.request.get(driver.client.url + found[1])
    assert "immutable" in script.headers["cache-control"]
    assert hashlib.sha384(script.body()).digest() == b64decode(found[2])

    called: list[str] = []
    page.on("request", lambda request: called.append(request.url))
    own.get_by_role("button", name="Preview").click()
    expect(page.locator("skein-chat")).to_be_attached()
    assert page.evaluate("document.querySelector('skein-chat').isOpen")
    assert [url for url in called if "/v1/" in url] == []
    page.keyboard.press("Escape")

    own.get_by_role("button", name="Delete").click()
    expect(own).to_have_count(0)
