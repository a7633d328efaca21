"""The page First steps: six clicks through the recorded day, and each shows what it promises."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.console.conftest import NO_LIMITS
from tests.console.driver import Driver
from tests.e2e.process import running_stack
from tests.support.scripted_openai import ScriptedOpenAI

PLAYED_MS = 60_000
FACTS = (
    ("A memory crosses channels", "free_times"),
    ("A secret is kept from a group", "This answer of the recorded day is scripted."),
    ("A plan fired", "Good morning, Leo! Please bring your old X-rays at 10."),
    ("A text without an answer", "The person has opted out"),
    ("A person steps in", "An agent asked for a person: Iris"),
    ("Who saw what", "The recorded day of the clinic"),
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
