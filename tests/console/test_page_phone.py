"""The page Phone: SMS as any number, and chats as any local person."""

import io
import itertools
import re

from PIL import Image
from playwright.sync_api import FilePayload, Route, expect

from tests.console.driver import HOSTILE, Driver
from tests.support.scripted_openai import Answer, ScriptedOpenAI

numbers = itertools.count(200)


def png() -> bytes:
    """Return a small picture."""
    made = io.BytesIO()
    Image.new("RGB", (40, 30), "teal").save(made, "PNG")
    return made.getvalue()


def become_another_number(driver: Driver) -> str:
    """Take a number that no other test uses."""
    number = f"+15005550{next(numbers)}"
    driver.page.get_by_label("Your number").fill(number)
    driver.page.get_by_label("Your number").press("Tab")
    return number


def test_first_page_of_a_local_stack_is_the_phone_without_a_sign_in(driver: Driver) -> None:
    driver.page.goto(driver.client.url)
    driver.ready()
    expect(driver.page).to_have_title("Phone - Skein")
    expect(driver.page.get_by_label("Your SMS")).to_be_focused()


def test_sms_gets_an_answer_with_its_segments_and_state(driver: Driver) -> None:
    driver.open("#/phone")
    become_another_number(driver)
    driver.send("What is a good exercise for my back?")
    mine, theirs = driver.page.locator(".bubble.mine"), driver.page.locator(".bubble.theirs")
    expect(mine).to_contain_text("Sent, 1 segment")
    expect(theirs).to_contain_text("Try the plank", timeout=20_000)
    expect(theirs).to_contain_text("Delivered, 1 segment")
    expect(driver.page.locator("#announcer")).to_contain_text("Try the plank")
    assert mine.count() == theirs.count() == 1


def test_sms_of_another_number_are_not_shown(driver: Driver) -> None:
    driver.open("#/phone")
    number = become_another_number(driver)
    driver.send("first")
    expect(driver.page.locator(".bubble.mine")).to_contain_text("Sent")
    become_another_number(driver)
    expect(driver.page.locator(".bubble")).to_have_count(0)
    driver.page.get_by_label("Your number").fill(number)
    driver.page.get_by_label("Your number").press("Tab")
    expect(driver.page.locator(".bubble.mine")).to_contain_text("first")


def test_sms_after_stop_shows_that_no_answer_follows_and_how_to_get_answers_again(
    driver: Driver,
) -> None:
    driver.open("#/phone")
    become_another_number(driver)
    state = driver.page.locator(".conversation .state")
    driver.send("STOP")
    expect(state).to_contain_text("No answer", timeout=20_000)
    driver.send("Are you there?")
    expect(state).to_contain_text("you have opted out. Text START", timeout=20_000)
    expect(state).not_to_have_class(re.compile("dots"))
    expect(driver.page.locator(".bubble.theirs")).to_have_count(0)
    driver.send("START")
    driver.send("Are you there?")
    expect(driver.page.locator(".bubble.theirs")).to_be_visible(timeout=20_000)


def test_sms_arrive_in_the_order_in_which_they_were_written(driver: Driver) -> None:
    driver.open("#/phone")
    become_another_number(driver)

    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    driver.page.route(re.compile("/local/sms$"), hold_the_first)
    for text in ("STOP", "Are you there?", "START"):
        driver.send(text)
    driver.page.wait_for_timeout(300)
    held[0].continue_()
    received = driver.page.locator(".bubble.mine[data-status=received]")
    expect(received).to_have_count(3, timeout=20_000)
    expect(received.locator(".text")).to_have_text(["STOP", "Are you there?", "START"])


def test_picture_goes_to_the_agent_and_is_shown_on_the_phone_in_chats_and_in_why(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    picture: FilePayload = {"name": "lake.png", "mimeType": "image/png", "buffer": png()}
    driver.open("#/phone/app")
    model.say("A lake.")  # for the answer and for the description, in either order
    model.say("A lake.")
    driver.page.locator("input[type=file]").set_input_files([picture])
    expect(driver.page.locator(".chosen")).to_contain_text("lake.png")
    driver.send("Look")
    expect(driver.page.locator(".chosen")).to_be_hidden()
    expect(driver.page.locator(".bubble.mine img").last).to_be_visible(timeout=20_000)
    expect(driver.page.locator(".bubble.theirs").last).to_contain_text("A lake.", timeout=30_000)
    driver.check_accessibility()

    driver.open("#/phone")
    become_another_number(driver)
    driver.page.locator("input[type=file]").set_input_files([picture])
    model.say("Another lake.")
    model.say("Another lake.")
    driver.send("Look")
    expect(driver.page.locator(".bubble.mine img").last).to_be_visible(timeout=20_000)
    expect(driver.page.locator(".bubble.theirs")).to_contain_text("lake", timeout=30_000)
    driver.check_accessibility()

    driver.page.locator(".bubble.theirs").get_by_role("link", name="Why").click()
    driver.sign_in_again()
    driver.give_reason()
    shown = driver.page.locator(".card", has_text="Images and files").locator("img")
    expect(shown.first).to_be_visible(timeout=20_000)
    driver.check_accessibility()


def test_composer_counts_segments_as_carriers_do(driver: Driver) -> None:
    driver.open("#/phone")
    count = driver.page.locator("#segments")
    for text, expected in (
        ("a" * 160, "1 segment, 0 characters left"),
        ("a" * 161, "2 segments, 145 characters left"),
        ("€" * 80, "1 segment, 0 characters left"),
        ("ж" * 71, "2 segments, 63 characters left"),
    ):
        driver.page.locator(".composer textarea").fill(text)
        expect(count).to_have_text(expected)


def test_invalid_phone_number_shows_an_error(driver: Driver) -> None:
    driver.open("#/phone")
    driver.page.get_by_label("Your number").fill("12")
    driver.page.get_by_label("Your number").press("Tab")
    expect(driver.page.get_by_role("status")).to_contain_text("Enter a phone number")


def test_person_of_the_app_gets_an_answer_over_the_live_channel(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    model.default = Answer("Ten minutes.", latency=1.0)
    driver.open("#/phone/app")
    expect(driver.page.locator('.state[data-state="connected"]')).to_be_visible()
    driver.send("How long should I run?")
    expect(driver.page.locator(".activity .working")).to_contain_text("is writing")
    theirs = driver.page.locator(".window .theirs").last
    expect(theirs).to_contain_text("Ten minutes.", timeout=20_000)
    expect(driver.page.locator(".activity .working")).to_have_count(0)


def test_phone_rings_without_the_words_while_the_app_is_in_the_background(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    model.default = Answer("Ten minutes.", latency=2.0)
    driver.open("#/phone/app")
    expect(driver.page.locator('.state[data-state="connected"]')).to_be_visible()
    driver.send("How long should I run?")
    driver.page.get_by_label("App in background").check()
    shown = driver.page.get_by_role("list", name="Notifications")
    rung = shown.get_by_role("listitem").filter(has_text="Coach answered")  # other agents may, too
    expect(rung).to_have_count(1, timeout=20_000)
    expect(shown).not_to_contain_text("Ten minutes")


def test_new_person_of_the_app_has_a_chat_of_their_own(driver: Driver) -> None:
    driver.open("#/phone/app")
    driver.page.get_by_label("Chat as").select_option(label="Someone else")
    driver.page.get_by_label("Your name").fill(HOSTILE)
    driver.page.get_by_label("Your name").press("Tab")
    expect(driver.page.locator(".composer textarea")).to_be_visible()
    driver.send(HOSTILE)
    expect(driver.page.locator(".window .mine")).to_contain_text(HOSTILE)
    expect(driver.page.locator(".window .theirs")).to_be_visible(timeout=20_000)


def test_question_by_sms_is_answered_with_a_number(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    question = {"question": "Shall I book?", "options": ["Sure", "Later"]}
    idle_model.call_tools(("ask_choice", question)).say("Booked.")
    client, token = driver.client, driver.operator()
    clerk = {"name": "Clerk", "reply_mode": "text", "enabled_tools": ["ask_choice"]}
    line = {
        "phone": f"+15005559{next(numbers)}",
        "agent_id": client.ok("POST", "/v1/agents", clerk, token=token)["id"],
    }
    client.ok("POST", "/v1/lines", line, token=token)
    driver.open("#/phone")
    driver.page.get_by_label("Send to").select_option(value=line["phone"])
    become_another_number(driver)
    driver.send("Book a court, please")
    theirs = driver.page.locator(".bubble.theirs .text")
    expect(theirs).to_contain_text("Shall I book?", timeout=20_000)
    number = re.search(r"Sure: reply (\d{6})", theirs.inner_text())
    assert number is not None
    driver.send(number[1])
    expect(theirs.last).to_have_text("Booked.", timeout=20_000)


def test_message_of_whatsapp_is_answered_and_its_receipt_shown(driver: Driver) -> None:
    driver.open("#/phone/whatsapp")
    become_another_number(driver)
    driver.page.get_by_label("Your message").fill("What is a good exercise for my back?")
    driver.page.get_by_label("Your message").press("Enter")
    theirs = driver.page.locator(".bubble.theirs")
    expect(theirs).to_contain_text("Try the plank", timeout=20_000)
    expect(theirs).to_contain_text("Read")
    expect(driver.page.locator("#segments")).to_contain_text("Free-form messages are allowed until")


def test_two_phones_beside_each_other_show_a_group_from_both_sides(driver: Driver) -> None:
    client, operator = driver.client, driver.operator()
    for name in ("Una", "Vic"):
        client.ok("POST", "/v1/users", {"id": name.lower(), "name": name}, token=operator)
    driver.open("#/phone/app")
    page = driver.page
    page.get_by_role("button", name="Open a second phone").click()
    first, second = (page.get_by_role("region", name=f"Phone {number}") for number in (1, 2))
    first.get_by_label("Chat as").select_option(label="Una")
    second.get_by_label("Chat as").select_option(label="Vic")
    first.get_by_text("New chat or group").click()
    expect(
        first.get_by_role("group", name="Agents").get_by_role("checkbox", checked=True)
    ).to_have_count(0)
    first.get_by_role("group", name="Agents").get_by_label("Coach", exact=True).first.check()
    first.get_by_label("Vic", exact=True).check()
    first.get_by_label("Title (optional)").fill("Sunday run")
    first.get_by_role("button", name="Create chat").click()
    second.get_by_role("button", name="Yes").click()
    expect(second.get_by_label("Chat", exact=True).locator("option:checked")).to_have_text(
        "Sunday run"
    )
    expect(first.get_by_label("Chat", exact=True)).to_have_value(re.compile("^chat/"))
    page.set_viewport_size({"width": 1440, "height": 900})
    driver.check_looks()
    top = first.locator(".composer").bounding_box()
    first.get_by_label("Your message").fill("Who comes?")
    first.get_by_label("Your message").press("Enter")
    expect(second.locator(".bubble.theirs").first).to_contain_text("Who comes?")
    activity = first.locator(".reason, .bubble.theirs")  # the agent may have nothing to say
    expect(activity.first).to_be_visible(timeout=20_000)
    assert first.locator(".composer").bounding_box() == top, "a draft moves nothing"


def test_sms_answer_links_to_the_page_that_explains_it(driver: Driver) -> None:
    driver.open("#/phone")
    driver.page.get_by_label("Your number").fill("+15005550188")
    driver.page.get_by_label("Your number").press("Tab")
    driver.send("What is a good exercise?")
    answer = driver.page.locator(".bubble.theirs")
    expect(answer).to_contain_text("plank", timeout=20_000)
    answer.get_by_role("link", name="Why").click()
    driver.sign_in_again()
    expect(driver.page.locator("h1")).to_have_text("Why")
    expect(driver.page.locator("main")).to_contain_text("The SMS was delivered.")


def test_unlisted_agent_is_greyed_until_it_is_listed(driver: Driver) -> None:
    body = {"name": "Nils", "system_prompt": "You are Nils.", "listed": False}
    agent = driver.client.ok("POST", "/v1/agents", body, token=driver.operator())["id"]
    driver.open("#/phone/app")
    chat = driver.page.get_by_label("Chat", exact=True)
    expect(chat.locator(f'option[value="agent/{agent}"]')).to_be_disabled()
    expect(chat.locator(f'option[value="agent/{agent}"]')).to_have_text("Nils (unlisted)")
    driver.check_looks()
    driver.page.get_by_role("button", name="List Nils").click()
    expect(chat).to_have_value(f"agent/{agent}")
    expect(driver.page.get_by_label("Your message")).to_be_focused()


def test_address_with_a_line_opens_the_texts_with_it(driver: Driver) -> None:
    token, line = driver.operator(), "+15005559177"
    body = {"name": "Mira", "system_prompt": "You are Mira."}
    agent = driver.client.ok("POST", "/v1/agents", body, token=token)["id"]
    driver.client.ok("POST", "/v1/lines", {"phone": line, "agent_id": agent}, token=token)
    driver.open_as_operator(f"#/agent/{agent}")
    driver.page.get_by_role("link", name="Send an SMS").click()
    expect(driver.page.get_by_label("Send to")).to_have_value(line)
    become_another_number(driver)
    driver.send("Are you Mira?")
    expect(driver.page.locator(".bubble.mine")).to_contain_text("Sent")
    runs = driver.client.ok("GET", f"/v1/agents/{agent}/runs", token=token)["items"]
    assert len(runs) == 1
