"""Sign-in at an identity provider other than the local issuer, with checks of real tokens."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import stack
from tests.console.driver import Driver
from tests.support.identity_provider import AUDIENCE, CLIENT, Provider, running_provider
from tests.support.scripted_openai import ScriptedOpenAI


@pytest.fixture(scope="module")
def _provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


@pytest.fixture(scope="module")
def _url(
    _model: ScriptedOpenAI, _provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A stack whose console signs in at the provider."""
    settings = {
        "SKEIN_CONSOLE_ISSUER": _provider.url,
        "SKEIN_CONSOLE_AUDIENCE": AUDIENCE,
        "SKEIN_CONSOLE_CLIENT_ID": CLIENT,
        "SKEIN_JWT_TENANT": "demo",
    }
    with stack(_model, tmp_path_factory.mktemp("provider"), settings) as url:
        _provider.redirect_uri = f"{url}/console/"
        yield url


@pytest.fixture
def provider(_url: str, _provider: Provider) -> Provider:
    """The provider, which grants all scopes and has given no code."""
    _provider.codes.clear()
    _provider.allowed = "openid chat support privacy owner admin"
    return _provider


def sign_in(page: Page, choice: str = "Continue as Maria") -> None:
    """Sign in at the provider's page."""
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=choice).click()
    expect(page.locator("main h1")).to_be_visible()


def test_sign_in_at_a_provider_shows_the_page_with_its_token(
    driver: Driver, provider: Provider
) -> None:
    page = driver.page
    asked: list[dict[str, list[str]]] = []
    page.on(
        "request",
        lambda request: (
            asked.append(parse_qs(urlsplit(request.url).query))
            if "/authorize?" in request.url
            else None
        ),
    )
    driver.open("#/settings")
    sign_in(page)
    expect(page.locator("h1")).to_have_text("Settings")
    expect(page.get_by_role("heading", name="Current settings")).to_be_visible()
    expect(page.locator(".who")).to_contain_text("Maria")
    assert page.url.endswith("/console/#/settings")
    assert asked[0]["code_challenge_method"] == ["S256"]
    assert provider.codes == {}


def test_code_that_another_page_has_got_is_refused_without_its_verifier(
    driver: Driver, provider: Provider
) -> None:
    page = driver.page
    page.route(
        "**/token",
        lambda route: route.continue_(
            post_data=f"{route.request.post_data}".replace("code_verifier=", "code_verifier=x")
        ),
    )
    driver.open("#/home")
    sign_in(page)
    expect(page.get_by_role("alert")).to_contain_text("The identity provider rejected the sign-in")
    assert provider.codes


def test_canceled_sign_in_shows_an_error(driver: Driver, provider: Provider) -> None:
    driver.open("#/home")
    sign_in(driver.page, "Cancel")
    expect(driver.page.get_by_role("alert")).to_contain_text(
        "The identity provider rejected the sign-in"
    )
    sign_in(driver.page)
    expect(driver.page.locator("h1")).to_have_text("Home")
    assert provider.url


def test_person_without_the_scope_admin_sees_the_chats_only(
    driver: Driver, provider: Provider
) -> None:
    provider.allowed = "openid chat"
    driver.open("#/home")
    sign_in(driver.page)
    expect(driver.page.get_by_role("alert")).to_contain_text("requires the scope support")
    driver.go("Chats")
    expect(driver.page.locator("main")).to_contain_text("You don't have any chats yet.")
