"""The page Why: the outcome of a message, the run behind an answer, and the same prompt again."""

from playwright.sync_api import Page, expect

from tests.console.driver import HOSTILE, Driver, answered_chat
from tests.support.scripted_openai import Answer, ScriptedOpenAI

PROMPT = f"You coach swimmers. {HOSTILE}"
AGENT = {"name": HOSTILE[:60], "system_prompt": PROMPT}


def test_answer_in_a_chat_leads_to_its_prompt_and_cost(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, [HOSTILE], agent=AGENT)
    driver.open_as_operator(f"#/chats/{chat}")
    driver.page.get_by_role("link", name="Why did").click()
    driver.ready()
    driver.give_reason()
    main = driver.page.locator("main")
    expect(main).to_contain_text("in total")
    expect(main).to_contain_text("Step 1")
    identity = driver.page.locator(".section").filter(has_text="IDENTITY").first
    identity.locator("summary").click()
    expect(identity).to_contain_text("The agent's name and system prompt.")
    expect(identity).to_contain_text("holds no person's words")
    expect(identity.locator("pre")).to_contain_text(PROMPT)
    driver.check_inert()


def test_memory_in_a_prompt_shows_where_it_comes_from(driver: Driver) -> None:
    client, token = driver.client, driver.operator()
    agent = client.ok(
        "POST", "/v1/agents", {**AGENT, "reply_mode": "text", "listed": True}, token=token
    )["id"]
    memory = {"kind": "core", "text": f"The pool is warm. {HOSTILE}"}
    made = client.ok("POST", f"/v1/agents/{agent}/memories", memory, token=token)["id"]
    ann = client.token("ann")
    body = {"kind": "direct", "members": [{"kind": "agent", "id": agent}]}
    chat = client.ok("POST", "/v1/chats", body, token=ann)["id"]
    message = {"text": "Is the pool warm?", "client_id": "1"}
    client.ok("POST", f"/v1/chats/{chat}/messages", message, token=ann)
    client.ok("POST", "/local/drain")
    driver.open_as_operator(f"#/why/{chat}/2")
    driver.give_reason()
    section = driver.page.locator(".section").filter(has_text="CORE MEMORIES").first
    section.locator("summary").click()
    entries = section.get_by_role("region", name="Sources of CORE MEMORIES")
    expect(entries.get_by_role("button", name="Copy id")).to_have_attribute("title", made)
    expect(entries).to_contain_text("no chat")
    expect(entries).to_contain_text("everyone in the tenant may see it")
    driver.check_looks()
    driver.check_inert()


def test_run_in_both_themes_and_narrow_has_no_accessibility_problem(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["One", "Two"], agent=AGENT)
    driver.open_as_operator(f"#/why/{chat}/4")
    driver.give_reason()
    driver.page.locator(".section summary").first.click()
    driver.page.get_by_text("Show differences").click()
    expect(driver.page.locator(".diff").first).to_be_visible()
    driver.check_looks()


def test_run_is_compared_with_the_previous_prompt(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["First words", "Second words"])
    driver.open_as_operator(f"#/why/{chat}/4")
    driver.give_reason()
    driver.page.get_by_text("Show differences").press("Enter")
    added = driver.page.locator(".diff .added")
    expect(added.filter(has_text="Second words")).to_be_visible()
    expect(driver.page.locator("main")).to_contain_text("Unchanged: IDENTITY")


def edit(page: Page, name: str, before: str | None, after: str) -> None:
    """Choose a part of the prompt, check its text, and change it."""
    page.get_by_role("checkbox", name=name, exact=True).check()
    words = page.get_by_label(f"New text for {name}", exact=True)
    if before is not None:
        expect(words).to_have_value(before)
    words.fill(after)


def test_run_again_with_edited_parts_sends_all_of_them_and_shows_the_answer(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    chat, _ = answered_chat(driver.client, ["How do I swim faster?"], agent=AGENT)
    driver.open_as_operator(f"#/why/{chat}/2")
    driver.give_reason()
    model.default = Answer(f"Kick more. {HOSTILE}")
    page = driver.page
    edit(page, "System prompt", PROMPT, "You coach runners.")
    edit(page, "INSTRUCTIONS", None, "INSTRUCTIONS: A bird sang.")
    edit(page, "NOW", None, "NOW: It is noon.")
    page.get_by_role("checkbox", name="NOW", exact=True).uncheck()
    page.get_by_role("button", name="Run again").press("Enter")
    card = page.locator(".card").filter(has_text="New answer")
    expect(card.locator("blockquote")).to_have_text(f"Kick more. {HOSTILE}")
    expect(card.locator(".added")).to_contain_text("Kick more.")
    asked = str(model.calls[-1].body)
    assert "You coach runners." in asked
    assert "A bird sang." in asked
    assert "It is noon." not in asked
    driver.check_looks()
    driver.check_inert()


def test_run_again_that_is_refused_says_why(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"])
    driver.open_as_operator(f"#/why/{chat}/2")
    driver.give_reason()
    error = {"code": "conflict", "detail": HOSTILE, "details": {}}
    driver.page.route("**/replay*", lambda route: route.fulfill(status=409, json=error))
    driver.page.get_by_role("button", name="Run again").click()
    expect(driver.page.locator(".outcome").filter(has_text=HOSTILE)).to_be_visible()


def test_tools_of_a_run_are_shown_with_arguments_and_results(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    idle_model.then(Answer(tool_calls=[("save_memory", {"content": HOSTILE, "kind": "core"})]))
    _, agent = answered_chat(driver.client, ["Remember this"])
    driver.open_as_operator(f"#/why/agent/{agent}")
    driver.page.locator("table a").first.click()
    driver.ready()
    driver.give_reason()
    expect(driver.page.get_by_role("region", name="Arguments for save_memory")).to_contain_text(
        HOSTILE[:20]
    )
    expect(driver.page.get_by_role("region", name="Result from save_memory")).to_be_visible()
    driver.check_inert()


def test_silence_in_a_chat_leads_to_its_reason(driver: Driver, model: ScriptedOpenAI) -> None:
    chat, _ = answered_chat(driver.client, ["Hello"])
    model.default = Answer("[silence]")
    driver.open_as_operator(f"#/chats/{chat}")
    expect(driver.page.locator(".state[data-state=connected]")).to_be_visible()
    driver.send("Say nothing")
    driver.page.get_by_role("link", name="Why didn't").press("Enter")
    driver.ready()
    table = driver.page.locator("main table").first
    expect(table).to_contain_text("The model answered `[silence]`.")
    driver.give_reason()
    expect(driver.page.locator("main")).to_contain_text("in total")


def test_silence_of_an_earlier_time_leads_to_its_reason(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    model.default = Answer("[silence]")
    chat, _ = answered_chat(driver.client, ["Say nothing"])
    driver.open_as_operator(f"#/chats/{chat}")
    driver.page.get_by_role("link", name="What happened after message 1").press("Enter")
    driver.ready()
    expect(driver.page.locator("main")).to_contain_text("The model answered `[silence]`.")


def test_run_that_escalated_is_marked_in_the_list(driver: Driver, model: ScriptedOpenAI) -> None:
    asked = {"reason": "She wants one", "summary": "Maya wants to talk to a person"}
    model.call_tools(("ask_a_person", asked)).say("[silence]")
    _, agent = answered_chat(driver.client, ["I want to talk to a human"])
    driver.open_as_operator(f"#/why/agent/{agent}")
    driver.give_reason()
    expect(driver.page.locator("tbody tr").first).to_contain_text("Escalated to your team")


def test_runs_of_another_day_are_reached_by_its_date(driver: Driver) -> None:
    _, agent = answered_chat(driver.client, ["Hello"])
    driver.open_as_operator(f"#/why/agent/{agent}")
    expect(driver.page.locator("tbody tr")).to_have_count(1)
    driver.page.get_by_label("Day").fill("2026-01-01")
    driver.page.get_by_role("button", name="Show", exact=True).press("Enter")
    driver.ready()
    expect(driver.page.locator("main")).to_contain_text("No runs on this day.")
    driver.check_looks()


def test_run_list_shows_sender_outcome_and_cost(driver: Driver) -> None:
    client, token = driver.client, driver.operator()
    price = {"input": 2, "output": 8}
    prices = {"currency": "USD", "models": {"gpt-4.1-mini": price}}
    client.ok("PATCH", "/v1/settings", {"prices": prices}, token=token)
    _, agent = answered_chat(client, [HOSTILE])
    driver.open_as_operator(f"#/why/agent/{agent}")
    [row] = driver.page.locator("tbody tr").all()
    expect(row).to_contain_text("Private")
    driver.give_reason()
    for words in ("operator", HOSTILE[:40], '"Try the plank', "USD"):
        expect(row).to_contain_text(words)
    driver.check_looks()
    driver.page.get_by_label("Outcome").select_option(label="Failed")
    expect(driver.page.locator("main")).to_contain_text("No runs match these filters.")
    driver.check_inert()
    client.ok("PATCH", "/v1/settings", {"prices": None}, token=token)


def test_system_prompt_that_was_tried_becomes_that_of_the_agent(driver: Driver) -> None:
    chat, agent = answered_chat(driver.client, ["Hello"], agent=AGENT)
    driver.open_as_operator(f"#/why/{chat}/2")
    driver.give_reason()
    driver.page.get_by_label("System prompt", exact=True).check()
    driver.page.get_by_label("New text for System prompt").fill("You coach rowers.")
    driver.page.get_by_role("button", name="Run again").click()
    driver.page.get_by_role("button", name="Use this system prompt").click()
    expect(driver.page.locator("main")).to_contain_text("now uses this system prompt")
    shown = driver.client.ok("GET", f"/v1/agents/{agent}", token=driver.operator())
    assert shown["system_prompt"] == "You coach rowers."


def test_sections_show_how_much_of_them_was_cached(driver: Driver, model: ScriptedOpenAI) -> None:
    model.default = Answer("Yes.", usage=(400, 5), cached=400)
    chat, _ = answered_chat(driver.client, ["Hello"])
    driver.open_as_operator(f"#/why/{chat}/2")
    driver.give_reason()
    expect(driver.page.locator("main")).to_contain_text("100% of the first request was served from")
    expect(driver.page.locator(".section summary").first).to_contain_text("cached")
    expect(driver.page.locator(".legends")).to_contain_text("Served from the provider's cache")


def test_run_is_kept_as_a_case_of_its_agent(driver: Driver) -> None:
    chat, _ = answered_chat(driver.client, ["When do you open?"], agent=AGENT)
    driver.open_as_operator(f"#/why/{chat}/2")
    driver.give_reason()
    page = driver.page
    page.get_by_label("Name of the case").fill(f"Hours {HOSTILE}")
    page.get_by_label("Says none of").fill("closed\nnever")
    page.get_by_label("Doesn't call the tool").fill("forget")
    driver.check_looks()
    page.get_by_role("button", name="Keep as a case").click()
    page.get_by_role("link", name="To the agent's cases").click()
    driver.ready()
    main = page.locator("main")
    expect(main).to_contain_text("Private case")
    driver.give_reason()
    expect(main).to_contain_text(f"Hours {HOSTILE}")
    expect(main).to_contain_text("Says none of closed or never")
    page.get_by_role("button", name="Stop requiring").click()
    expect(page.get_by_role("button", name="Require: ")).to_be_visible()
    driver.check_looks()
    driver.check_inert()
    page.get_by_role("button", name="Delete: ").click()
    expect(main).to_contain_text("There are no cases yet.")
