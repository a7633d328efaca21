"""The live channel of a running stack, over a real WebSocket."""

import json
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.e2e.client import Client
from tests.support.scripted_openai import Answer, ScriptedOpenAI

SECONDS = 20.0
TENANT = "live"


def frames_until(socket: ClientConnection, kind: str, **wanted: Any) -> list[dict[str, Any]]:
    """Return the frames up to one of a kind with some fields."""
    frames: list[dict[str, Any]] = []
    while True:
        frame = json.loads(socket.recv(SECONDS))
        frames.append(frame)
        if frame["type"] == kind and wanted.items() <= frame.items():
            return frames


def texts(frames: list[dict[str, Any]]) -> list[str]:
    return [frame["message"]["text"] for frame in frames if frame["type"] == "message"]


def test_app_sees_message_run_and_answer_without_polling(
    client: Client, model: ScriptedOpenAI
) -> None:
    admin, dana = client.token("ops", "admin", TENANT), client.token("usr_dana", "chat", TENANT)
    agent = client.ok("POST", "/v1/agents", {"name": "Keeper", "listed": True}, token=admin)["id"]
    live = client.ok("POST", "/v1/live", token=dana)
    with connect(f"{live['url']}?ticket={live['ticket']}") as socket:
        new = {"kind": "direct", "members": [{"kind": "agent", "id": agent}]}
        chat = client.ok("POST", "/v1/chats", new, token=dana)["id"]
        frames_until(socket, "chat", chat_id=chat)
        model.say("The answer is 42.")
        message = {"text": "What is the answer?", "client_id": "1"}
        client.ok("POST", f"/v1/chats/{chat}/messages", message, token=dana)
        frames = frames_until(socket, "run", chat_id=chat, status="done")
        while "The answer is 42." not in texts(frames):  # frames of two changes have no order
            frames.append(json.loads(socket.recv(SECONDS)))
    client.drain()
    assert texts(frames) == ["What is the answer?", "The answer is 42."]
    assert "working" in [frame["status"] for frame in frames if frame["type"] == "run"]


def test_words_reach_the_app_while_the_model_writes_the_answer(
    client: Client, model: ScriptedOpenAI
) -> None:
    admin, dana = client.token("ops", "admin", TENANT), client.token("usr_dana", "chat", TENANT)
    agent = client.ok("POST", "/v1/agents", {"name": "Streamer", "listed": True}, token=admin)["id"]
    live = client.ok("POST", "/v1/live", token=dana)
    answer = "Rest on Monday, and run on Tuesday."
    early = []  # whether the model had more to write when the first words came
    with connect(f"{live['url']}?ticket={live['ticket']}") as socket:
        new = {"kind": "direct", "members": [{"kind": "agent", "id": agent}]}
        chat = client.ok("POST", "/v1/chats", new, token=dana)["id"]
        for n in range(3):  # one is enough: other tests use the machine, too
            model.then(Answer(answer, pause=0.3))
            model.words_at.clear()
            message = {"text": "What shall I do?", "client_id": f"stream {n}"}
            client.ok("POST", f"/v1/chats/{chat}/messages", message, token=dana)
            frames = frames_until(socket, "delta", chat_id=chat)
            written = len(model.words_at)
            while answer not in texts(frames):
                frames.append(json.loads(socket.recv(SECONDS)))
            early.append(written < len(model.words_at))
            words = [frame for frame in frames if frame["type"] == "delta"]
            assert [frame["n"] for frame in words] == list(range(1, len(words) + 1))
            assert answer.startswith("".join(frame["text"] for frame in words))
            assert len(words) > 1  # an answer of two seconds has frames at 0, 1 and 2 seconds
    client.drain()
    assert any(early)
