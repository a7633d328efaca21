"""The frame of the console: focus, title, theme, and unknown addresses."""

from playwright.sync_api import expect

from tests.console.driver import Driver


def test_page_change_moves_the_focus_to_the_heading_and_names_the_window(driver: Driver) -> None:
    driver.open_as_operator("#/home")
    driver.go("Chats")
    expect(driver.page.locator("h1")).to_be_focused()
    expect(driver.page).to_have_title("Chats - Skein")
    links = driver.page.get_by_role("navigation", name="Pages").locator("a[aria-current=page]")
    expect(links).to_have_text("Chats")


def test_menu_of_a_narrow_window_unfolds_in_groups_and_folds_after_a_choice(driver: Driver) -> None:
    driver.page.set_viewport_size({"width": 390, "height": 844})
    driver.open_as_operator("#/home")
    driver.check_accessibility()
    pages = driver.page.get_by_role("navigation", name="Pages")
    expect(pages).to_be_hidden()
    driver.page.get_by_role("button", name="Menu").click()
    driver.check_accessibility()
    links = pages.get_by_role("list", name="Talk").get_by_role("link")
    expect(links).to_have_text(["Phone", "Chats", "Desk"])
    links.filter(has_text="Chats").click()
    driver.ready()
    expect(pages).to_be_hidden()


def test_theme_follows_the_system_until_the_person_chooses(driver: Driver) -> None:
    page = driver.page
    ground = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="dark")
    driver.open("#/phone")
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Theme: system").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    driver.ready()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Theme: light").click()
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == dark


def test_unknown_address_shows_page_not_found(driver: Driver) -> None:
    driver.open("#/nowhere")
    expect(driver.page.get_by_role("alert")).to_contain_text("Page not found.")


def test_address_that_names_a_built_in_property_is_no_page(driver: Driver) -> None:
    driver.open("#/constructor/%ff")
    expect(driver.page.get_by_role("alert")).to_contain_text("Page not found.")
