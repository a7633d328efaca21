"""The part Trials of an agent: try a prompt on its cases, compare both versions, and use it."""

from playwright.sync_api import expect

from tests.console.driver import HOSTILE, Driver
from tests.support.scripted_openai import Answer, ScriptedOpenAI


def answer_by_prompt(model: ScriptedOpenAI) -> None:
    """Let the model say what its system prompt says about the hours."""
    model.default = lambda request: Answer(
        "We open at 9:00." if "9:00" in str(request["messages"][0]) else f"We are {HOSTILE}"
    )


def test_spoiled_prompt_is_refused_and_a_good_one_is_used(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    answer_by_prompt(model)
    page, client, token = driver.page, driver.client, driver.operator()
    new = {"name": "Lake", "system_prompt": "You open at 9:00.", "gate": "block"}
    agent = client.ok("POST", "/v1/agents", new, token=token)["id"]
    script = {"people": [{"name": "Ann"}], "turns": [{"from": "Ann", "text": "When?"}]}
    case = {"name": "Hours", "script": script, "expect": [{"says": ["9:00"]}]}
    client.ok("POST", f"/v1/agents/{agent}/cases", case, token=token)
    driver.open_as_operator(f"#/agent/{agent}/trials")
    for prompt, verdict in (("You are closed.", "Regressed"), ("Be brief: 9:00.", "Held")):
        page.get_by_label("System prompt to try").fill(prompt)
        page.get_by_role("button", name="Start a trial").click()
        expect(page.get_by_text("The trial has started.")).to_be_visible()
        client.ok("POST", "/local/drain", token=token)
        page.get_by_role("button", name="Refresh").click()
        expect(page.get_by_role("cell", name=verdict)).to_be_visible()
        page.get_by_text("Side by side").click()
        expect(page.get_by_text("We open at 9:00.").first).to_be_visible()
        driver.check_looks()
        page.get_by_role("button", name="Use this prompt").click()
        if verdict == "Regressed":
            expect(page.get_by_text("a required case of the trial regressed")).to_be_visible()
    driver.check_inert()
    expect(page.get_by_label("System prompt to try")).to_have_value("Be brief: 9:00.")
    assert (
        client.ok("GET", f"/v1/agents/{agent}", token=token)["system_prompt"] == "Be brief: 9:00."
    )
