"""The page Chats: the list, and one chat with its messages."""

import json
from urllib.parse import urlencode

from playwright.sync_api import Route, expect

from tests.console.driver import HOSTILE, OPERATOR, Driver, answered_chat
from tests.support.scripted_openai import Answer, ScriptedOpenAI

MANY = 10_000
MAX_NODES = 120
NOW = "2026-02-18T12:00:00.000Z"


def open_new_chat(driver: Driver, title: str) -> None:
    page = driver.page
    page.get_by_text("New chat").click()
    page.get_by_role("group", name="Agents").get_by_label("Coach", exact=True).first.check()
    page.get_by_label("Title (optional)").fill(title)
    page.get_by_role("button", name="Create chat").click()
    expect(page.locator(".detail .composer textarea")).to_be_visible()


def test_new_chat_with_an_agent_gets_an_answer(driver: Driver) -> None:
    driver.open_as_operator("#/chats")
    open_new_chat(driver, HOSTILE)
    expect(driver.page.locator(".detail h2")).to_have_text(HOSTILE)
    driver.send(HOSTILE)
    expect(driver.page.locator(".window .mine")).to_contain_text(HOSTILE)
    expect(driver.page.locator(".window .theirs")).to_contain_text("plank", timeout=20_000)


def test_message_with_markup_and_links_is_shown_as_text(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    answer = f"{HOSTILE} https://evil.example/x.png ![x](https://evil.example/y.png)"
    model.default = Answer(answer)
    requested: list[str] = []
    driver.page.on("request", lambda request: requested.append(request.url))
    driver.open_as_operator("#/chats")
    open_new_chat(driver, "Links")
    driver.send("Show me a picture")
    expect(driver.page.locator(".window .theirs .text")).to_have_text(answer, timeout=20_000)
    links = ".window a:not([href^='#'])"
    assert driver.page.locator(f"{links}, .window img, .window script").count() == 0
    assert not [url for url in requested if "evil.example" in url]


def test_failure_of_a_run_is_shown_with_its_reason(driver: Driver, model: ScriptedOpenAI) -> None:
    model.default = Answer("filtered", finish_reason="content_filter")
    driver.open_as_operator("#/chats")
    open_new_chat(driver, "Filtered")
    driver.send("Say something")
    expect(driver.page.locator(".activity .reason")).to_be_visible(timeout=30_000)


def test_message_that_cannot_be_sent_says_why_and_can_be_sent_again(driver: Driver) -> None:
    driver.open_as_operator("#/chats")
    open_new_chat(driver, "Refused")
    error = {"code": "unavailable", "detail": HOSTILE, "details": {}}
    pattern = "**/v1/chats/*/messages"
    driver.page.route(pattern, lambda route: route.fulfill(status=503, json=error))
    driver.send("once")
    expect(driver.page.locator(".window .mine")).to_contain_text(f"Not sent: {HOSTILE}")
    driver.page.unroute(pattern)
    driver.page.get_by_role("button", name="Resend").click()
    expect(driver.page.locator(".window .mine time")).to_be_visible()
    expect(driver.page.locator(".window .mine")).to_have_count(1)


def test_ten_thousand_messages_keep_the_number_of_nodes_bounded(driver: Driver) -> None:
    driver.open_as_operator("#/chats")
    open_new_chat(driver, "Long")

    def messages(route: Route) -> None:
        query = dict(pair.split("=") for pair in route.request.url.partition("?")[2].split("&"))
        last = int(query.get("before", MANY + 1)) - 1
        first = max(1, last - 99)
        items = [] if "after" in query else [message(seq) for seq in range(first, last + 1)]
        route.fulfill(body=json.dumps({"items": items, "next_cursor": None}))

    driver.page.route("**/messages?*", messages)
    driver.page.reload()
    driver.sign_in_again()
    rows = driver.page.locator(".window > li")
    expect(rows.last).to_contain_text(f"Message {MANY}")
    look = """() => {
      const rows = document.querySelectorAll(".window > li");
      document.querySelector(".scroller").scrollTop = 0;
      return [rows.length, rows[0].querySelector(".text").textContent];
    }"""
    for _ in range(MANY):
        nodes, top = driver.page.evaluate(look)
        assert nodes <= MAX_NODES
        if top == "Message 1":
            break
    expect(rows.first.locator(".text")).to_have_text("Message 1")
    driver.page.get_by_role("region", name="Messages").press("End")
    assert rows.count() <= MAX_NODES


def message(seq: int) -> dict[str, object]:
    """A message as the API returns it."""
    return {
        "id": f"msg_{seq}",
        "chat_id": "chat_1",
        "seq": seq,
        "kind": "text",
        "text": f"Message {seq}",
        "sender": {"kind": "user", "id": "ann", "name": "Ann"},
        "client_id": f"{seq}",
        "reply_to": None,
        "media": [],
        "run_id": None,
        "created_at": NOW,
    }


def test_list_of_chats_follows_the_live_channel(driver: Driver) -> None:
    client, page = driver.client, driver.page
    token = driver.operator()
    driver.open_as_operator("#/chats")
    entries = page.locator(".links li")
    agent = client.ok("POST", "/v1/agents", {"name": "Listed"}, token=token)["id"]
    members = [{"kind": "agent", "id": agent}]
    made = {"kind": "group", "title": "Live", "respond": "manual", "members": members}
    chats = [client.ok("POST", "/v1/chats", made, token=token)["id"] for _ in range(2)]
    expect(entries.first.locator("a")).to_have_attribute("href", f"#/chats/{chats[1]}")
    path = f"/v1/chats/{chats[0]}"
    # A new title.
    client.ok("PATCH", path, {"title": HOSTILE}, token=token)
    old = page.locator(f'.links a[href="#/chats/{chats[0]}"]')
    expect(old).to_contain_text(HOSTILE)
    # A new message moves the chat to the top, and keeps the focus.
    old.focus()
    client.ok("POST", f"{path}/messages", {"text": "First", "client_id": "1"}, token=token)
    expect(entries.first.locator("a")).to_have_attribute("href", f"#/chats/{chats[0]}")
    expect(entries.first).to_contain_text("First")
    expect(old).to_be_focused()
    # A chat that is discarded is gone.
    client.ok("DELETE", path, token=token)
    expect(old).to_have_count(0)
    # So is a chat that the person has left, on another device.
    me = client.ok("GET", "/v1/me", token=token)["id"]
    client.ok("DELETE", f"/v1/chats/{chats[1]}/members/user/{me}", token=token)
    expect(page.locator(f'.links a[href="#/chats/{chats[1]}"]')).to_have_count(0)
    driver.check_inert()


def test_title_of_the_open_chat_and_its_entry_follow_the_live_channel(driver: Driver) -> None:
    driver.open_as_operator("#/chats")
    open_new_chat(driver, "Before")
    expect(driver.page.locator(".state")).to_have_text("Live")
    chat = driver.page.url.rpartition("/")[2]
    driver.client.ok("PATCH", f"/v1/chats/{chat}", {"title": "After"}, token=driver.operator())
    expect(driver.page.locator(".detail h2")).to_have_text("After")
    expect(driver.page.locator(".links a[aria-current]")).to_contain_text("After")


def test_group_message_that_no_agent_can_answer_shows_the_reason(driver: Driver) -> None:
    client, token = driver.client, driver.operator()
    agent = client.ok("POST", "/v1/agents", {"name": "Tools"}, token=token)["id"]
    group = {"kind": "group", "members": [{"kind": "agent", "id": agent}]}
    chat = client.ok("POST", "/v1/chats", group, token=token)["id"]
    driver.open_as_operator(f"#/chats/{chat}")
    expect(driver.page.locator(".state")).to_have_text("Live")
    driver.send("Hello, all")
    reason = driver.page.locator(".activity .reason")
    expect(reason).to_contain_text("Tools couldn't answer", timeout=20_000)
    link = reason.get_by_role("link")
    expect(link).to_have_attribute("href", f"#/why/{chat}/1")


def test_words_of_the_model_are_shown_while_it_writes_them(
    driver: Driver, model: ScriptedOpenAI
) -> None:
    text = " ".join(f"word{n}" for n in range(12))
    model.default = Answer(text, pause=0.4)
    driver.open_as_operator("#/chats")
    open_new_chat(driver, "Streamed")
    expect(driver.page.locator(".state")).to_have_text("Live")
    driver.send("Tell me something long")
    streamed = driver.page.locator(".streaming .text")
    expect(streamed).to_contain_text("word2", timeout=20_000)
    assert "word11" not in streamed.inner_text()
    expect(driver.page.locator(".window .theirs .text")).to_have_text(text, timeout=20_000)
    expect(streamed).to_have_count(0)


def asks_to_post(driver: Driver, model: ScriptedOpenAI, words: str) -> tuple[str, str]:
    """Let an agent ask the operator whether to post words in a group.

    Returns:
        The ids of the operator's chat with the agent, and of the group.
    """
    client, token = driver.client, driver.operator()
    chat, agent = answered_chat(client, ["Between us: my knee hurts"])
    ben = client.ok("POST", "/v1/users", {"name": "Ben"}, token=token)["id"]
    members = [{"kind": "agent", "id": agent}, {"kind": "user", "id": ben}]
    group = {"kind": "group", "visibility": "private", "respond": "manual", "members": members}
    team = client.ok("POST", "/v1/chats", {**group, "title": HOSTILE}, token=token)["id"]
    client.ok("POST", f"/v1/chats/{team}/invitation", {"accept": True}, token=client.token(ben))
    send = ("send_message", {"chat_id": team, "text": words})
    model.call_tools(send).say("I have asked you.")
    body = {"text": "Tell the team that I am late", "client_id": "late"}
    client.ok("POST", f"/v1/chats/{chat}/messages", body, token=token)
    client.ok("POST", "/local/drain")
    return chat, team


def test_question_is_answered_once_and_posts_the_words_in_the_persons_name(
    driver: Driver, idle_model: ScriptedOpenAI
) -> None:
    chat, team = asks_to_post(driver, idle_model, "Operator is late")
    page = driver.page
    driver.open_as_operator(f"#/chats/{team}")
    # The question of another chat stands beside the chats.
    inbox = page.get_by_role("region", name="Questions for you")
    expect(inbox).to_contain_text('"Operator is late"?')
    driver.check_looks()
    driver.check_inert()
    page.goto(f"{driver.client.url}/console/#/chats/{chat}")
    question = page.locator(".window .choice")
    expect(question).to_contain_text('"Operator is late"?')
    expect(inbox).to_be_hidden()
    driver.check_looks()
    question.get_by_role("button", name="Yes").click()
    expect(question).to_contain_text("Answered: Yes")
    expect(question.get_by_role("button")).to_have_count(0)
    expect(page.locator(".composer textarea")).to_be_focused()
    driver.client.ok("POST", "/local/drain")
    page.goto(f"{driver.client.url}/console/#/chats/{team}")
    post = page.locator(".window .mine").last
    expect(post).to_contain_text("You via Coach")
    expect(post.locator(".text")).to_have_text("Operator is late")
    page.get_by_text("Posts you approved").click()
    expect(page.locator(".master .items").last).to_contain_text("posted.")
    driver.check_looks()
    driver.check_inert()


def choice(seq: int, addressee: str, **changes: object) -> dict[str, object]:
    """A question as the API returns it."""
    asked = {
        "question": HOSTILE,
        "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
        "addressee": addressee,
        "purpose": "question",
        "expires_at": NOW,
        "status": "open",
        "answer": None,
    }
    return {**message(seq), "kind": "choice", "choice": {**asked, **changes}}


def test_question_shows_its_state_to_others_and_a_field_for_an_answer_in_words(
    driver: Driver,
) -> None:
    driver.open_as_operator("#/chats")
    open_new_chat(driver, "Asked")
    answer = {"option": "no", "seq": 9, "at": NOW}
    items = [
        choice(1, "ben"),
        choice(2, "ben", status="answered", answer=answer),
        choice(3, "ben", status="expired"),
        choice(4, "operator", options=[]),
    ]
    page = driver.page
    page.route(
        "**/messages?*", lambda route: route.fulfill(json={"items": items, "next_cursor": None})
    )
    page.reload()
    driver.sign_in_again()
    rows = page.locator(".window .choice")
    expect(rows.nth(0)).to_contain_text("can answer. Expires")
    expect(rows.nth(1)).to_contain_text("Answered: No")
    expect(rows.nth(2)).to_contain_text("Expired")
    driver.check_looks()
    driver.check_inert()
    sent: list[object] = []

    def refuse(route: Route) -> None:
        sent.append(json.loads(route.request.post_data or "{}")["choice"])
        error = {"code": "conflict", "detail": "is answered already", "details": {}}
        route.fulfill(status=409, json=error)

    page.route("**/v1/chats/*/messages", refuse)
    rows.nth(3).get_by_label("Your answer").fill("Ten km")
    rows.nth(3).get_by_role("button", name="Answer").click()
    expect(rows.nth(3)).to_contain_text("is answered already")
    assert sent == [{"seq": 4, "text": "Ten km"}]
    assert page.locator(".window .choice button").count() == 1


def test_invited_person_is_asked_at_once_and_accepts_in_the_console(driver: Driver) -> None:
    client, operator = driver.client, driver.operator()
    client.ok("GET", "/v1/me", token=client.token("ann"))
    name = f"Invited {HOSTILE}"  # people of other tests have the name HOSTILE
    ann = client.ok("POST", "/v1/users", {"name": name}, token=operator)["id"]
    members = [{"kind": "user", "id": ann}]
    group = {"kind": "group", "visibility": "private", "title": HOSTILE, "members": members}
    with driver.page.expect_websocket():
        driver.sign_in("#/chats", name)
    driver.page.wait_for_load_state("networkidle")  # the list of questions was read
    chat = client.ok("POST", "/v1/chats", group, token=client.token("stranger"))["id"]
    inbox = driver.page.get_by_role("region", name="Questions for you")
    expect(inbox).to_contain_text(HOSTILE)
    driver.check_looks()
    driver.check_inert()
    inbox.get_by_role("button", name="Yes").click()
    expect(inbox).to_be_hidden()
    expect(
        driver.page.locator(f'.links a[href="#/chats/{chat}"][aria-current=true]')
    ).to_be_visible()


def test_owner_makes_another_owner_and_removes_a_member(driver: Driver) -> None:
    client = driver.client
    own = client.token(OPERATOR, "chat admin")
    for name in ("Annika", "Benno"):
        new = {"id": f"usr_roles_{name.lower()}", "name": name}
        client.ok("POST", "/v1/users", new, token=own)
    people = [{"kind": "user", "id": f"usr_roles_{name}"} for name in ("annika", "benno")]
    body = {"kind": "group", "title": "Roles", "members": people}
    chat = client.ok("POST", "/v1/chats", body, token=own)["id"]
    for member in people:
        joined = client.token(member["id"])
        client.call("POST", f"/v1/chats/{chat}/invitation", {"accept": True}, token=joined)
    driver.open_as_operator(f"#/chats/{chat}")
    members = driver.page.locator("details.members")
    members.locator("summary").first.click()
    expect(members.locator("li")).to_have_count(3)
    driver.page.get_by_role("button", name="Make Annika an owner").click()
    expect(members.locator("li", has_text="Annika")).to_contain_text("Owner")
    driver.page.get_by_role("button", name="Remove Benno").click()
    expect(members.locator("li")).to_have_count(2)
    driver.check_accessibility()
    shown = client.ok("GET", f"/v1/chats/{chat}/members", token=own)["items"]
    assert sorted(each["role"] for each in shown) == ["owner", "owner"]
    driver.page.get_by_text("Add a member").click()
    driver.page.get_by_label("Person or agent").select_option(label="Benno")
    driver.page.get_by_role("button", name="Add", exact=True).click()
    expect(driver.page.locator("main")).to_contain_text("Invited: Benno")


def test_person_sees_whether_operators_may_read_chats_and_since_when(driver: Driver) -> None:
    client, owner = driver.client, driver.operator()
    try:
        client.ok("PATCH", "/v1/settings", {"operators_read_chats": False}, token=owner)
        driver.open_as_operator("#/chats")
        told = driver.page.get_by_text("Operators can't read chats.")
        expect(told).to_contain_text("Since:")
    finally:
        client.ok("PATCH", "/v1/settings", {"operators_read_chats": None}, token=owner)


def test_person_sees_which_operator_read_their_private_chat_and_why(driver: Driver) -> None:
    client, me = driver.client, OPERATOR
    chat, _ = answered_chat(client, ["Between us"], person=me)
    why = {"reason": f"A complaint about {HOSTILE}"[:200]}
    clerk = client.token("clerk", "admin")
    client.ok("GET", f"/v1/transcripts/{chat}?{urlencode(why)}", token=clerk)
    driver.open_as_operator("#/chats")
    looks = driver.page.get_by_text("Operator access to your private content")
    looks.click()
    part = driver.page.locator("details").filter(has=looks)
    expect(part).to_contain_text("clerk: read message")
    expect(part).to_contain_text(why["reason"])
    driver.check_inert()
