"""A lost connection: the console says so, connects again, and reads what it missed."""

import json

from playwright.sync_api import WebSocketRoute, expect

from tests.console.driver import Driver


def open_app(driver: Driver) -> str:
    """Open the phone's app as the page's first person, Ann; return the id of the shown chat."""
    with driver.page.expect_response(
        lambda answer: answer.request.method == "POST" and answer.url.endswith("/v1/chats")
    ) as opened:
        driver.open("#/phone/app")
    chat_id: str = opened.value.json()["id"]
    return chat_id


def test_lost_connection_is_reported_and_missed_messages_are_loaded(driver: Driver) -> None:
    page, client = driver.page, driver.client
    sockets: list[WebSocketRoute] = []

    def connect(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.connect_to_server()

    page.route_web_socket("**/live?*", connect)
    page.route("**/v1/live", lambda route: route.abort() if down else route.continue_())
    down: list[bool] = []
    chat_id = open_app(driver)
    state = page.locator(".state")
    expect(state).to_have_text("Live")
    down.append(True)
    sockets[-1].close()
    expect(state).to_contain_text("Connection lost")
    token = client.token("ann")
    path = f"/v1/chats/{chat_id}/messages"
    client.ok("POST", path, {"text": "while you were away", "client_id": "away"}, token=token)
    down.clear()
    expect(state).to_have_text("Live", timeout=20_000)
    expect(page.locator(".window .mine").last).to_contain_text("while you were away")


def test_frame_after_a_gap_reads_the_messages_between(driver: Driver) -> None:
    page, client = driver.page, driver.client
    token = client.token("ann")

    def swallow(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda text: None if "swallowed" in str(text) else socket.send(text))

    page.route_web_socket("**/live?*", swallow)
    path = f"/v1/chats/{open_app(driver)}/messages"
    expect(page.locator(".state")).to_have_text("Live")
    for text in ("swallowed", "arrives"):
        client.ok("POST", path, {"text": text, "client_id": text}, token=token)
    mine = page.locator(".window .mine")
    expect(mine.filter(has_text="arrives")).to_be_visible()
    expect(mine.filter(has_text="swallowed")).to_have_count(1)


def test_words_stream_by_their_number_and_vanish_at_a_retract(driver: Driver) -> None:
    page = driver.page
    sockets: list[WebSocketRoute] = []

    def connect(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.connect_to_server()

    page.route_web_socket("**/live?*", connect)
    opened: list[str] = []
    page.on(
        "response", lambda answer: opened.append(answer.url) if "/messages?" in answer.url else None
    )
    driver.open("#/phone/app")
    expect(page.locator(".state")).to_have_text("Live")
    chat = opened[-1].split("/chats/")[1].split("/")[0]

    def push(kind: str, **more: object) -> None:
        frame = {"type": kind, "chat_id": chat, "agent": {"id": "agt_1", "name": "Poet"}, **more}
        sockets[-1].send(json.dumps(frame))

    words = page.locator(".streaming .text")
    for n, text in ((1, "Roses "), (2, "are "), (2, "are "), (4, "lost "), (3, "<b>red</b>")):
        push("delta", n=n, text=text)
    expect(words).to_have_text("Roses are <b>red</b>")
    push("retract")
    expect(words).to_have_count(0)
