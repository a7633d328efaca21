"""The page of the API's documentation in a browser: access, themes and width."""

from playwright.sync_api import expect

from tests.console.driver import NARROW, Driver

LOAD_MILLISECONDS = 60_000  # the first call also imports both APIs
FEW = """document.querySelectorAll("main article, main > section:has(> h3)")
  .forEach((part, position) => { if (position % 25) part.remove(); })"""


def test_docs_page_is_accessible_in_both_themes_and_fits_a_phone(driver: Driver) -> None:
    driver.page.goto(f"{driver.client.url}/docs", timeout=LOAD_MILLISECONDS)
    expect(driver.page.get_by_role("heading", name="Post a message", exact=True)).to_be_visible()
    driver.page.set_viewport_size(NARROW)
    driver.check_width()
    # All operations have the same shape, and axe-core takes minutes for the whole page.
    driver.page.evaluate(FEW)
    driver.check_looks()


def test_docs_page_first_tab_skips_the_contents(driver: Driver) -> None:
    driver.page.goto(f"{driver.client.url}/docs", timeout=LOAD_MILLISECONDS)
    driver.page.keyboard.press("Tab")
    expect(driver.page.get_by_role("link", name="Skip to the operations")).to_be_focused()
