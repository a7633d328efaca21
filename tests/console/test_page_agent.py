"""The page Agents: what operators set of an agent, and what the agent keeps."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Locator, expect

from tests.console.driver import HOSTILE, Driver, answered_chat

PARTS = (
    "prompt", "tools", "memories", "goals", "plans", "threads", "documents", "skills", "preview",
    "trials",
)  # fmt: skip


def make_agent(driver: Driver) -> str:
    """Create an agent that has one of everything, each with markup in its words."""
    token = driver.operator()

    def create(path: str, body: object) -> Any:
        return driver.client.ok("POST", path, body, token=token)

    body = {"name": HOSTILE[:60], "system_prompt": HOSTILE, "model": "no-such-model"}
    agent: str = create("/v1/agents", body)["id"]
    path = f"/v1/agents/{agent}"
    driver.client.ok("PATCH", path, {"system_prompt": f"Second. {HOSTILE}"}, token=token)
    create(f"{path}/memories", {"kind": "core", "text": HOSTILE})
    script = {"people": [{"name": HOSTILE}], "turns": [{"from": HOSTILE, "text": HOSTILE}]}
    create(f"{path}/cases", {"name": HOSTILE, "expect": [{"says": [HOSTILE]}], "script": script})
    create(f"{path}/goals", {"text": HOSTILE})
    create(f"{path}/plans", {"name": HOSTILE[:60], "instruction": HOSTILE, "run_after": "2 hours"})
    create(f"{path}/threads", {"concern": HOSTILE, "goal": HOSTILE})
    create(f"{path}/documents", {"name": "plan.md", "text": HOSTILE})
    return agent


def items(driver: Driver, card: str) -> Locator:
    """The items of a card."""
    return driver.page.locator(".card").filter(has=driver.page.get_by_role("heading", name=card))


@pytest.mark.parametrize("part", PARTS)
def test_part_of_an_agent_is_accessible_and_shows_markup_as_text(driver: Driver, part: str) -> None:
    agent = make_agent(driver)
    driver.open_as_operator(f"#/agent/{agent}/{part}")
    driver.check_inert()
    for summary in driver.page.locator("main summary").all():
        summary.press("Enter")
    driver.check_looks()


def test_agent_with_unlisted_model_shows_a_warning(driver: Driver) -> None:
    driver.open_as_operator(f"#/agent/{make_agent(driver)}")
    expect(driver.page.locator(".notice")).to_contain_text("does not list the model no-such-model")


def test_system_prompt_is_changed_compared_and_rolled_back(driver: Driver) -> None:
    driver.open_as_operator(f"#/agent/{make_agent(driver)}/prompt")
    page = driver.page
    prompt = page.get_by_label("System prompt", exact=True)
    prompt.fill("Third.")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_text("Version 3 (current)")).to_be_visible()
    page.get_by_text("Show changes").first.press("Enter")
    expect(page.locator(".diff .added").first).to_contain_text("Third.")
    expect(page.locator(".diff .removed").first).to_contain_text("Second.")
    page.get_by_role("button", name="Restore version 1").press("Enter")
    expect(page.get_by_text("restored from version 1")).to_be_visible()
    expect(prompt).to_have_value(HOSTILE)


def test_tools_are_turned_on_and_off(driver: Driver) -> None:
    agent = make_agent(driver)
    driver.open_as_operator(f"#/agent/{agent}/tools")
    page = driver.page
    page.get_by_label("Documents and skills", exact=False).first.check()
    page.get_by_text("Talk: choose one by one").click()
    page.get_by_label("recall").uncheck()
    expect(page.get_by_text(re.compile(r"These tools take \d{3,} tokens"))).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Documents and skills", exact=False).first).to_be_checked()
    found = driver.client.ok("GET", f"/v1/agents/{agent}", token=driver.operator())
    assert {"read_document", "read_skill"} <= set(found["enabled_tools"])
    assert "recall" not in found["enabled_tools"]


def test_memory_is_replaced_removed_and_restored(driver: Driver) -> None:
    driver.open_as_operator(f"#/agent/{make_agent(driver)}/memories")
    page = driver.page
    active, ended = items(driver, "Active memories"), items(driver, "Removed, replaced")
    expect(active).to_contain_text("from an operator")
    active.get_by_text("Replace", exact=True).press("Enter")
    active.get_by_label("New text").fill("Other words")
    active.get_by_role("button", name="Replace memory").press("Enter")
    expect(active.locator("li")).to_contain_text(["Other words"])
    active.get_by_role("button", name="Make public").press("Enter")
    expect(active.locator("li")).to_contain_text(["visitors of web pages"])
    active.get_by_role("button", name="Make not public").press("Enter")
    expect(active.locator("li")).not_to_contain_text("visitors of web pages")
    expect(ended.locator("li")).to_contain_text([HOSTILE])
    active.get_by_role("button", name="Remove").press("Enter")
    expect(ended.locator("li")).to_have_count(2)
    ended.get_by_role("button", name="Restore").first.press("Enter")
    expect(active.locator("li")).to_have_count(1)
    driver.check_inert()
    assert page.locator("main li").count() == 2


def test_goal_is_added_and_completed(driver: Driver) -> None:
    driver.open_as_operator(f"#/agent/{make_agent(driver)}/goals")
    page = driver.page
    items(driver, "New goal").get_by_label("Text").fill("Run a marathon")
    page.get_by_role("button", name="Add").press("Enter")
    goal = page.locator(".items > li").filter(has_text="Run a marathon")
    goal.get_by_text("Change").press("Enter")
    goal.get_by_label("Text").fill("Run a marathon in April")
    goal.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_role("heading", name="Goals")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("Done.")
    goal.get_by_role("button", name="Completed").press("Enter")
    expect(goal).to_contain_text("completed")
    goal.get_by_role("button", name="Reopen").press("Enter")
    expect(goal.get_by_role("button", name="Completed")).to_be_visible()


def test_plan_is_on_the_timeline_until_it_is_canceled(driver: Driver) -> None:
    driver.open_as_operator(f"#/agent/{make_agent(driver)}/plans")
    page = driver.page
    expect(items(driver, "Upcoming").locator(".timeline li")).to_contain_text([HOSTILE])
    page.get_by_role("button", name="Cancel").press("Enter")
    expect(items(driver, "Ended plans")).to_contain_text("canceled")


def test_plan_is_created_and_changed(driver: Driver) -> None:
    agent = make_agent(driver)
    driver.open_as_operator(f"#/agent/{agent}/plans")
    page = driver.page
    new = items(driver, "New plan")
    new.get_by_label("Name").fill("Weekly look")
    new.get_by_label("Instruction").fill("Look at the goals.")
    new.get_by_label("Destination").select_option("None (background work)")
    new.get_by_label("Schedule").select_option("Cron expression")
    new.get_by_label("Cron expression").fill("0 8 * * 1")
    new.get_by_label("Time zone").fill("Europe/Rome")
    new.get_by_role("button", name="Create").press("Enter")
    plan = items(driver, "Upcoming").locator("li").filter(has_text="Weekly look")
    expect(plan).to_contain_text("On Mondays at 08:00 in Europe/Rome")
    expect(page.locator(".axis circle")).to_have_count(2)
    plan.get_by_text("Change").press("Enter")
    plan.get_by_label("Schedule").select_option("Once, at a specific time")
    plan.get_by_label("Time", exact=True).fill("2030-01-02T08:00:00")
    plan.get_by_role("button", name="Save").press("Enter")
    expect(items(driver, "Upcoming")).to_contain_text("2 Jan 2030")
    expect(page.get_by_role("heading", name="Upcoming")).to_be_focused()
    token = driver.operator()
    plans = driver.client.ok("GET", f"/v1/agents/{agent}/plans?status=active", token=token)
    assert sorted(each["name"] for each in plans["items"]) == [HOSTILE[:60], "Weekly look"]
    driver.check_looks()


def test_plan_of_a_chat_is_created_for_the_chat(driver: Driver) -> None:
    chat, agent = answered_chat(driver.client, ["Hello"])
    driver.open_as_operator(f"#/agent/{agent}/plans/chat/{chat}")
    driver.give_reason()
    new = items(driver, "New plan")
    new.get_by_label("Name").fill("Report")
    new.get_by_label("Instruction").fill("Report.")
    new.get_by_label("Delay").fill("2 hours")
    new.get_by_role("button", name="Create").press("Enter")
    expect(items(driver, "Upcoming").locator("li")).to_contain_text(["Report"])
    path = f"/v1/agents/{agent}/plans?chat_id={chat}&reason=The+complaint+4711"
    [plan] = driver.client.ok("GET", path, token=driver.operator())["items"]
    assert plan["source_chat_id"] == chat


def test_thread_is_created_changed_and_moves_over_the_board(driver: Driver) -> None:
    driver.open_as_operator(f"#/agent/{make_agent(driver)}/threads")
    page = driver.page
    expect(page.locator(".column").first).to_contain_text("Open (1)")
    new = items(driver, "New thread")
    new.get_by_label("Topic").fill("New mats")
    new.get_by_label("Goal").fill("Ten mats")
    new.get_by_role("button", name="Create").press("Enter")
    expect(page.locator(".column").first).to_contain_text("Open (2)")
    thread = page.locator(".ticket").filter(has_text="New mats")
    thread.get_by_text("Change").press("Enter")
    thread.get_by_label("Progress").fill("Five mats are here.")
    thread.get_by_role("button", name="Save").press("Enter")
    expect(thread.locator("dd").filter(has_text="Five mats are here.")).to_be_visible()
    thread.locator("summary").filter(has_text="End").press("Enter")
    thread.get_by_label("Outcome").select_option("Archived")
    thread.get_by_label("Learned").fill(HOSTILE)
    thread.get_by_role("button", name="End thread").press("Enter")
    archived = page.locator(".column").last.locator(".ticket")
    expect(archived).to_contain_text(HOSTILE)
    archived.get_by_role("button", name="Delete").press("Enter")
    expect(archived).to_have_count(0)
    driver.check_inert()


def test_skill_is_created_replaced_and_deleted(driver: Driver) -> None:
    driver.open_as_operator(f"#/agent/{make_agent(driver)}/skills")
    page = driver.page
    new = items(driver, "New skill")
    new.get_by_label("Name").fill("stretching")
    new.get_by_label("Description").fill("How to stretch")
    new.get_by_label("Tags").fill("sport, back")
    new.get_by_label("Text").fill(HOSTILE)
    new.get_by_label("Show it to visitors").check()
    new.get_by_role("button", name="Create").press("Enter")
    skill = page.locator(".items > li").filter(has_text="How to stretch")
    expect(skill).to_contain_text("tags: sport, back")
    skill.get_by_text("stretching").press("Enter")
    expect(skill.get_by_label("Text")).to_have_value(HOSTILE)
    skill.get_by_label("Description").fill("How to stretch well")
    skill.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_text("How to stretch well")).to_be_visible()
    skill.get_by_text("stretching").press("Enter")
    expect(skill.get_by_label("Show it to visitors")).to_be_checked()
    skill.get_by_role("button", name="Delete").press("Enter")
    expect(skill).to_have_count(0)


def test_document_edit_after_another_change_reports_the_conflict(driver: Driver) -> None:
    agent = make_agent(driver)
    driver.open_as_operator(f"#/agent/{agent}/documents")
    page = driver.page
    page.get_by_text("plan.md").press("Enter")
    text = page.locator(".items textarea")
    expect(text).to_have_value(HOSTILE)
    path, token = f"/v1/agents/{agent}/documents/plan.md", driver.operator()
    driver.client.ok("PATCH", path, {"append": "more"}, token=token)
    text.fill("new text")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator(".items .outcome").first).not_to_be_empty()
    page.once("dialog", lambda shown: shown.accept())
    page.reload()
    assert driver.errors.pop().startswith("dialog"), "the browser asks before words are lost"
    driver.sign_in_again()
    page.get_by_text("plan.md").press("Enter")
    text.fill("new text")
    page.get_by_label("Show it to visitors").check()
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_text("version 3")).to_be_visible()
    expect(page.get_by_text("public (visitors")).to_be_visible()
    assert driver.client.ok("GET", path, token=token)["text"] == "new text"


def test_preview_shows_what_the_agent_would_see_in_a_chat(driver: Driver) -> None:
    chat, agent = answered_chat(driver.client, [HOSTILE])
    driver.open_as_operator(f"#/agent/{agent}/preview")
    driver.page.get_by_label("Chat", exact=True).select_option(chat)
    driver.page.get_by_label("Reason (for a private chat)").fill("The complaint 4711")
    driver.page.get_by_role("button", name="Show prompt").press("Enter")
    driver.page.locator(".section summary").filter(has_text="CHAT HISTORY").press("Enter")
    expect(driver.page.get_by_role("region", name="CHAT HISTORY")).to_contain_text(HOSTILE)


def test_items_of_a_chat_are_found_under_whose(driver: Driver) -> None:
    chat, agent = answered_chat(driver.client, ["Hello"])
    driver.open_as_operator(f"#/agent/{agent}/memories")
    driver.page.get_by_label("Show items of").select_option("A chat")
    driver.page.get_by_label("Chat", exact=True).select_option(chat)
    driver.page.get_by_role("button", name="Show").press("Enter")
    driver.ready()
    expect(driver.page.get_by_label("Chat", exact=True)).to_have_value(chat)
    driver.give_reason()
    expect(driver.page.get_by_role("heading", name="New memory")).to_have_count(0)


def test_words_of_outsiders_are_left_out_by_choice(driver: Driver) -> None:
    agent = make_agent(driver)
    driver.open_as_operator(f"#/agent/{agent}/prompt")
    page = driver.page
    choice = page.get_by_label("Messages from outsiders in private prompts")
    expect(choice).to_have_value("")
    choice.select_option("none")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Version 3 (current)")).to_be_visible()
    expect(choice).to_have_value("none")
    found = driver.client.ok("GET", f"/v1/agents/{agent}", token=driver.operator())
    assert found["outsiders"] == "none"


def test_new_agent_needs_three_fields_and_answers_its_line(driver: Driver) -> None:
    driver.open_as_operator("#/agent")
    page = driver.page
    page.get_by_label("Name", exact=True).fill(HOSTILE)
    page.get_by_label("What the agent does").fill("You are a guide.")
    page.get_by_label("Phone number (optional)").fill("+15005550031")
    page.get_by_role("button", name="Create agent").click()
    expect(page.get_by_role("status")).to_contain_text("is ready.")
    page.get_by_role("link", name="Send an SMS").click()
    driver.ready()
    page.get_by_label("Send to").select_option("+15005550031")
    driver.send("Where are you?")
    expect(page.locator(".bubble.theirs")).to_contain_text("plank", timeout=20_000)


def test_agent_with_invalid_or_taken_number_reports_the_error(driver: Driver) -> None:
    driver.open_as_operator("#/agent")
    page = driver.page
    page.get_by_label("Name", exact=True).fill("Second")
    page.get_by_label("What the agent does").fill("You are a guide.")
    page.get_by_label("Phone number (optional)").fill("0113 496 0000")
    page.get_by_role("button", name="Create agent").click()
    expect(page.get_by_role("status")).to_contain_text("The agent wasn't created")
    page.get_by_label("Phone number (optional)").fill("+15005550006")
    page.get_by_role("button", name="Create agent").click()
    expect(page.get_by_role("status")).to_contain_text("the phone number couldn't be added")
    page.get_by_role("link", name="Open Second").click()
    expect(page.locator("h1")).to_have_text("Second")


def test_overview_renames_assigns_number_sets_access_and_deletes(driver: Driver) -> None:
    agent = make_agent(driver)
    driver.open_as_operator(f"#/agent/{agent}")
    page, head = driver.page, driver.page.get_by_role("region", name="Overview", exact=True)
    head.get_by_text("Rename").click()
    head.get_by_label("Name", exact=True).fill("Renamed")
    head.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("Renamed")
    head.get_by_text("Phone numbers", exact=True).last.click()
    head.get_by_label("Phone number").fill("+15005550072")
    head.get_by_role("button", name="Add number").click()
    expect(head.locator(".facts")).to_contain_text("+15005550072")
    head.get_by_text("Access").click()
    head.get_by_label("List this agent").check()
    head.get_by_label("Who can add it").select_option("operators")
    driver.check_looks()
    head.get_by_role("button", name="Save").last.click()
    expect(head.locator(".facts")).to_contain_text("Listed")
    shown = driver.client.ok("GET", f"/v1/agents/{agent}", token=driver.operator())
    assert (shown["name"], shown["who_may_add"], shown["listed"]) == ("Renamed", "operators", True)
    head.get_by_text("Phone numbers", exact=True).last.click()
    head.get_by_role("button", name="Remove the number").click()
    expect(head.locator(".facts")).to_contain_text("None")
    head.get_by_text("Delete", exact=True).click()
    head.get_by_label("To confirm").fill("Renamed")
    head.get_by_role("button", name="Delete agent").click()
    expect(page.locator("h1")).to_have_text("Agents")


def test_words_that_are_not_saved_are_guarded(driver: Driver) -> None:
    driver.open_as_operator(f"#/agent/{make_agent(driver)}/prompt")
    page, answers = driver.page, [False, True]
    page.on("dialog", lambda shown: shown.accept() if answers.pop(0) else shown.dismiss())
    prompt = page.get_by_label("System prompt", exact=True)
    prompt.fill("You are new.")
    tab = page.get_by_role("navigation", name="Agent sections").get_by_role("link", name="Tools")
    tab.click()
    expect(prompt).to_have_value("You are new.")
    expect(page).to_have_url(re.compile("/prompt$"))  # it is put back after the dialog
    tab.click()
    expect(page.get_by_label("Memory", exact=False).first).to_be_visible()
    assert [error.partition(":")[0] for error in driver.errors] == ["dialog", "dialog"]
    driver.errors.clear()


def test_new_plan_for_a_person_shows_its_target(driver: Driver) -> None:
    client, operator = driver.client, driver.operator()
    client.ok("POST", "/v1/users", {"id": "usr_planned", "name": "Zoe Planned"}, token=operator)
    _, agent = answered_chat(client, ["Hello"], person="usr_planned")
    driver.open_as_operator(f"#/agent/{agent}/plans")
    new = items(driver, "New plan")
    new.get_by_label("Name").fill("Weekly look")
    new.get_by_label("Instruction").fill("Say hello.")
    new.get_by_label("Person", exact=True).select_option(label="Zoe Planned")
    new.get_by_label("Reason").fill("The complaint 4711")
    new.get_by_label("Schedule").select_option("Daily or weekly")
    new.get_by_label("Days").select_option("On Mondays")
    new.get_by_role("button", name="Create").press("Enter")
    expect(items(driver, "Upcoming")).to_contain_text("Weekly look")
    expect(driver.page.get_by_label("Show items of")).to_have_value("user")
    query = "user_id=usr_planned&reason=The+complaint+4711"
    [plan] = client.ok("GET", f"/v1/agents/{agent}/plans?{query}", token=operator)["items"]
    assert (plan["name"], plan["cron"]) == ("Weekly look", "0 8 * * 1")


def test_new_agent_starts_from_a_template_with_its_words_tools_and_plans(driver: Driver) -> None:
    page = driver.page
    driver.open_as_operator("#/agent")
    page.get_by_label("Template").select_option(label="Coach")
    form = page.locator("form").filter(has=page.get_by_label("Template"))
    expect(form).to_contain_text("set_plan")
    expect(form).to_contain_text("Weekly check-in")
    driver.check_looks()
    form.get_by_label("Name").fill("Template coach")
    form.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="Open Template coach").click()
    expect(page.get_by_label("System prompt")).to_have_value(re.compile("You are a coach"))
    driver.page.evaluate("location.hash = location.hash.replace('/prompt', '') + '/plans'")
    expect(page.locator("main")).to_contain_text("Weekly check-in")


def test_agent_is_exported_imported_and_updated_from_its_file(
    driver: Driver, tmp_path: Path
) -> None:
    page, path = driver.page, tmp_path / "agent.yaml"
    driver.sign_in(f"#/agent/{make_agent(driver)}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(path)
    text = path.read_text()
    assert HOSTILE in yaml.safe_load(text)["agent"]["system_prompt"]
    tool = {
        "name": "file_status",
        "description": "Look up a file.",
        "http": {"url": "https://shop.example/files"},
        "credentials": {"secret_arn": "files", "header": "X-Key"},
    }
    path.write_text(f"{text}tools: {json.dumps([tool])}\n")
    driver.open("#/agent")
    card = items(driver, "Import")
    card.get_by_label("File").set_input_files([path])
    card.get_by_role("button", name="Import agent").click()
    expect(card).to_contain_text("skein-local-tools/demo/files (X-Key)")
    driver.check_looks()
    card.get_by_role("link", name="Open").click()
    prompt = page.get_by_label("System prompt", exact=True)
    expect(prompt).to_have_value(f"Second. {HOSTILE}")
    path.write_text(text.replace("Second.", "Third."))
    page.get_by_text("Update from a file").click()
    page.get_by_label("File").set_input_files([path])
    page.get_by_role("button", name="Update agent").click()
    expect(prompt).to_have_value(f"Third. {HOSTILE}")


def test_case_is_made_of_messages_and_deleted(driver: Driver) -> None:
    token = driver.operator()
    body = {"name": "Scripted", "system_prompt": "You help."}
    agent = driver.client.ok("POST", "/v1/agents", body, token=token)["id"]
    driver.open_as_operator(f"#/agent/{agent}/trials")
    page = driver.page
    page.get_by_label("Name of the case").fill(HOSTILE)
    page.get_by_label("Messages").fill("When do you open?\nAnd on Sundays?")
    page.get_by_label("Says one of").fill("nine\n9:00")
    page.get_by_label("Asks a person").check()
    driver.check_looks()
    page.get_by_role("button", name="Create the case").click()
    main = page.locator("main")
    expect(main).to_contain_text("When do you open? / And on Sundays?")
    expect(main).to_contain_text("Says one of nine or 9:00")
    driver.check_looks()
    driver.check_inert()
    page.get_by_role("button", name="Delete: ").click()
    expect(main).to_contain_text("There are no cases yet.")
