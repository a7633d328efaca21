"""A browser, and a local stack with people, agents and chats.

The tests need Debian's Chromium. Its package `chromium-headless-shell` takes less processor time
than `chromium`. Without both they are skipped. With `SKEIN_REQUIRE_BROWSER=1`, they fail instead.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.console.driver import Driver, fill_stack
from tests.e2e.client import Client
from tests.e2e.process import running_stack
from tests.support.scripted_openai import Answer, ScriptedOpenAI

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
NO_LIMITS = {
    "SKEIN_USER_MESSAGES_PER_MINUTE": "0",
    "SKEIN_USER_CHAT_CHANGES_PER_HOUR": "0",
    "SKEIN_USER_TOKENS_PER_DAY": "0",
}
HERE = Path(__file__).parent

# A busy machine may take longer than the 5 seconds that Playwright would wait.
expect.set_options(timeout=15_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests here, which `make test-console` runs; a busy machine may take minutes."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(400))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        reason = "no Chromium on PATH: install Debian's package `chromium-headless-shell`"
        if os.environ.get("SKEIN_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        # A container has no user namespaces for Chromium's sandbox.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def _model() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        yield server


@pytest.fixture
def model(_model: ScriptedOpenAI) -> ScriptedOpenAI:
    """The model of the stack, which answers each question with the same words."""
    _model.reset()
    _model.default = Answer("Try the plank, three times a minute.")
    return _model


@pytest.fixture(scope="session")
def _url(_model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with stack(_model, tmp_path_factory.mktemp("console")) as url:
        yield url


@contextmanager
def stack(
    model: ScriptedOpenAI, folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Start a stack whose data is in a new folder, and yield its URL."""
    environment = {"OPENAI_BASE_URL": model.base_url, **NO_LIMITS, **(settings or {})}
    with running_stack(folder / "data", environment) as url:
        yield url


@pytest.fixture
def client(_url: str, model: ScriptedOpenAI) -> Client:
    """The stack, as a person with curl sees it."""
    return Client(_url)


@pytest.fixture
def idle_model(model: ScriptedOpenAI, client: Client) -> ScriptedOpenAI:
    """The model, once no earlier run is left to take the answers that this test scripts."""
    client.drain()
    return model


@pytest.fixture(scope="session")
def filled(_url: str) -> None:
    """The stack has 100 agents, and the operator has 1,000 chats."""
    fill_stack(Client(_url))


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser without a past."""
    with browser.new_context(reduced_motion="reduce", locale="en-GB") as made:
        made.set_default_timeout(15_000)
        yield made


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A tab."""
    return context.new_page()


@pytest.fixture
def driver(page: Page, client: Client) -> Iterator[Driver]:
    """A person at the console; the browser must report no error by the end."""
    driver = Driver(page, client)
    yield driver
    assert driver.errors == []
