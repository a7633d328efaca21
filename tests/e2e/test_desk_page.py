"""The ticket system of docs/desk.md on a running stack: it takes a chat, answers, hands it back."""

import re
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from local.template import ROOT
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI

[CODE] = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "desk.md").read_text(encoding="utf-8"), re.DOTALL
)
TENANT = "helped"


@pytest.fixture
def tickets() -> Iterator[dict[str, Any]]:
    page: dict[str, Any] = {"__name__": "tickets"}
    exec(CODE, page)
    page["Tickets"].log_message = lambda *_: None
    with ThreadingHTTPServer(("127.0.0.1", 0), page["Tickets"]) as server:
        Thread(target=server.serve_forever, args=(0.05,)).start()
        page["ADDRESS"] = f"http://127.0.0.1:{server.server_port}/skein"
        yield page
        server.shutdown()


def test_ticket_system_of_the_page_takes_a_chat_answers_and_hands_it_back(
    start: StartStack, model: ScriptedOpenAI, tickets: dict[str, Any]
) -> None:
    client = start()  # the shared stack's clock may be ahead, and signatures get old
    token = client.token("ops", "chat admin", TENANT)
    new = {"url": tickets["ADDRESS"], "types": ["help.requested"]}
    tickets["SECRET"] = client.ok("POST", "/v1/event-endpoints", new, token=token)["secret"]
    tickets |= {"URL": client.url, "TOKEN": token}
    client.ok("PATCH", "/v1/settings", {"desk_words": ["human"]}, token=token)
    coach = {"name": "Coach", "reply_mode": "text"}
    agent = client.ok("POST", "/v1/agents", coach, token=token)["id"]
    chat = client.ok(
        "POST",
        "/v1/chats",
        {"kind": "direct", "members": [{"kind": "agent", "id": agent}]},
        token=token,
    )["id"]

    def says(text: str, answer: str) -> None:
        model.say(answer)
        said = {"text": text, "client_id": text}
        client.ok("POST", f"/v1/chats/{chat}/messages", said, token=token)
        client.drain()

    says("Get me a human", "I can help, too.")
    [ticket] = tickets["TICKETS"].values()
    assert (ticket["chat_id"], ticket["reason_code"]) == (chat, "words")
    assert ticket["link"] == f"{client.url}/console/#/desk/{chat}"
    assert tickets["answer"](ticket, "Your money is on its way.", "Refunded 20 euros.")
    says("Thank you", "You're welcome.")

    page = client.ok("GET", f"/v1/chats/{chat}/messages", token=token)
    lines = [(each["kind"], each["sender"]["name"], each["text"]) for each in page["items"]]
    assert ("team", "Mia", "Your money is on its way.") in lines
    assert lines[-1] == ("text", "Coach", "You're welcome.")
    assert client.ok("GET", "/v1/desk", token=token)["items"] == []
    prompt = str(model.calls[-1].body)
    assert "Your money is on its way." in prompt
    assert "Refunded 20 euros." in prompt
