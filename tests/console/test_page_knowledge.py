"""The page Knowledge: load a source, try a question, and delete it."""

from playwright.sync_api import expect

from tests.console.driver import HOSTILE, Driver

NAME = f"Hours {HOSTILE}"


def test_source_is_loaded_found_and_deleted(driver: Driver) -> None:
    page, token = driver.page, driver.operator()
    driver.open_as_operator("#/knowledge")
    page.get_by_label("Name", exact=True).fill(NAME)
    page.get_by_label("Or the text itself").fill("# Hours\n\nThe shop opens at nine.")
    driver.check_looks()
    page.get_by_role("button", name="Create the source").click()
    expect(page.get_by_text("is being read.")).to_be_visible()
    driver.client.ok("POST", "/local/drain", token=token)
    page.reload()
    own = page.locator("section:not(.card)").filter(has=page.get_by_role("heading", name=NAME))
    expect(own).to_contain_text("Ready. Version 1, 1 passage.")
    page.get_by_label("Question").fill("When does the shop open?")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("A prompt would show the best of these passages")).to_be_visible()
    expect(page.locator("pre").filter(has_text="The shop opens at nine.")).to_be_visible()
    driver.check_inert()
    page.get_by_role("button", name=f"Delete: {NAME}").click()
    expect(page.get_by_role("button", name=f"Delete: {NAME}")).to_have_count(0)


def test_questions_without_a_source_are_listed(driver: Driver) -> None:
    page = driver.page
    driver.open_as_operator("#/knowledge")
    page.get_by_text("Show questions that no source answered").click()
    expect(page.get_by_text("No question was left without a source today.")).to_be_visible()
