"""The page First steps: six clicks through the recorded day, and each shows what it promises."""

import os
from base64 import b64encode
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from local.day.actors import TENANT
from local.template import ROOT
from tests.console.conftest import NO_LIMITS
from tests.console.driver import Driver
from tests.e2e.client import Client
from tests.e2e.process import running_stack
from tests.support.scripted_openai import ScriptedOpenAI

PLAYED_MS = 60_000
FACTS = (
    ("A memory crosses channels", "free_times"),
    ("A secret is kept from a group", "This answer from the recorded day is scripted."),
    ("A plan runs on time", "Good morning, Leo! Please bring your old X-rays at 10."),
    ("An SMS that is not answered", "The person has opted out"),
    ("A team member steps in", "Requested by an agent: Iris"),
    ("Who accessed what", "The recorded day of the clinic"),
)


@pytest.fixture(scope="module")
def _url(_model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stack with the recorded day."""
    folder = tmp_path_factory.mktemp("tour")
    environment = {"OPENAI_BASE_URL": _model.base_url, **NO_LIMITS}
    with running_stack(folder / "data", environment, "--day") as url:
        yield url


def test_tour_shows_each_fact_after_one_click(driver: Driver) -> None:
    page = driver.page
    driver.open()
    expect(page.locator("h1")).to_have_text("First steps")
    start = page.get_by_role("button", name="Start", exact=True)
    expect(start).to_be_visible(timeout=PLAYED_MS)
    driver.check_looks()
    start.click()
    for title, fact in FACTS:
        expect(page.get_by_role("region", name="First steps")).to_contain_text(title)
        driver.ready()
        expect(page.locator("main .page")).to_contain_text(fact)
        following = page.get_by_role("button", name="Next", exact=True)
        if title == FACTS[1][0]:
            expect(page.get_by_role("button", name="Run again with my model")).to_be_visible()
            assert "heart" not in page.locator("main .page").inner_text()
        if title != FACTS[-1][0]:
            following.click()
    driver.check_looks()
    page.get_by_role("link", name="Finish").click()
    driver.ready()
    expect(page.locator("h1")).to_have_text("First steps")


PICTURE = """<style>
body { margin: 0; background: #f6f7f6; font: 600 15px system-ui, sans-serif; color: #1b2625; }
div { display: flex; gap: 20px; padding: 20px; align-items: flex-start; width: 1080px; }
figure { margin: 0; }
</style><div>
<figure><figcaption>1. Nora tells the agent a secret, by SMS</figcaption>
<img src="ASKED" width="380"><br><br><img src="ANSWERED" width="380"></figure>
<figure><figcaption>2. Tom asks in a group: all that the model is shown</figcaption>
<img src="RIGHT" width="630"></figure></div>"""


def shot(part: Locator) -> str:
    return f"data:image/png;base64,{b64encode(part.screenshot()).decode()}"


@pytest.mark.skipif("SKEIN_SCREENSHOTS" not in os.environ, reason="only `make screenshots` writes")
def test_screenshot_of_the_kept_secret(browser: Browser, client: Client) -> None:
    with browser.new_context(
        color_scheme="light", reduced_motion="reduce", locale="en-GB", device_scale_factor=1.5
    ) as context:
        driver = Driver(context.new_page(), client)
        page = driver.page
        page.set_viewport_size({"width": 430, "height": 900})
        driver.open()
        start = page.get_by_role("button", name="Start", exact=True)
        expect(start).to_be_visible(timeout=PLAYED_MS)
        start.click()
        driver.ready()
        token = client.token("operator", "chat admin", TENANT)
        [nora] = client.ok("GET", "/v1/users?phone=%2B15005550141", token=token)["items"]
        chats = client.ok("GET", f"/v1/users/{nora['id']}/chats", token=token)["items"]
        sms = min(chats, key=lambda each: str(each["chat_id"]))["chat_id"]
        page.evaluate("place => { location.hash = place; }", f"#/transcripts/{sms}")
        driver.give_reason()
        driver.ready()
        said = page.locator("ol, ul").filter(has=page.locator(".sender")).first
        asked, answered = (shot(said.locator("> li").nth(n)) for n in range(2))
        page.set_viewport_size({"width": 720, "height": 900})
        page.evaluate("location.hash = '#/tour'")
        page.get_by_role("button", name="A secret is kept from a group").click()
        driver.ready()
        prompt = page.locator("section.card", has_text="Prompt, as sent to the model").first
        prompt.locator(".legends").evaluate("legends => legends.remove()")
        prompt.locator("summary", has_text="CHAT HISTORY").click()
        right = shot(prompt)
        both = context.new_page()
        both.set_viewport_size({"width": 1120, "height": 900})
        both.set_content(
            PICTURE.replace("RIGHT", right).replace("ASKED", asked).replace("ANSWERED", answered)
        )
        both.locator("div").screenshot(path=ROOT / "docs" / "images" / "kept-secret.png")
