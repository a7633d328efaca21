"""How a local stack starts, ends, keeps its data, and keeps to its own clock."""

import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from local.config import Config
from local.errors import DataInUseError
from local.stack import Stack
from tests.e2e.client import LINE, Client
from tests.e2e.conftest import StartStack
from tests.e2e.process import LocalProcess
from tests.support.scripted_openai import ScriptedOpenAI

SLOW = {"reply_debounce_seconds": 600, "reply_debounce_max_seconds": 600}


def test_a_delay_passes_with_the_clock_and_not_before(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start(**SLOW)
    client.text("Hi")
    client.turn(480)  # the clock goes on meanwhile, and on a busy machine for a while
    assert not model.calls
    model.say("Hello!")
    client.turn(121)
    assert client.texts() == ["Hello!"]


def test_second_start_keeps_the_data_and_answers(
    start: StartStack, stop: ExitStack, model: ScriptedOpenAI
) -> None:
    client = start(**SLOW)
    model.say("Ten.")
    client.text("How many push-ups?")
    client.drain()
    client.turn(60)
    token, before = client.token("ops", "admin"), _now(client)
    client.text("And squats?")
    stop.close()

    again = start(**SLOW)
    again.phone = client.phone
    assert _now(again) >= before
    assert not model.remaining
    model.say("Twenty.")
    again.turn(601)
    assert again.texts() == ["Ten.", "Twenty."]
    agents = again.ok("GET", "/v1/agents", token=again.token("ops", "admin"))["items"]
    assert [agent["name"] for agent in agents] == ["Coach"]
    # The key is kept; but the issuer is the stack's own address, which has changed.
    assert again.call("GET", "/v1/agents", token=token).status == 401


def test_stack_is_one_process(model: ScriptedOpenAI, tmp_path: Path) -> None:
    process = _process(model, tmp_path)
    try:
        process.wait_until_ready()
        assert process.children() == []
        assert process.end(signal.SIGINT) == 0
        assert "Traceback" not in process.output
    finally:
        process.kill()


def test_the_log_holds_neither_words_nor_numbers(model: ScriptedOpenAI, tmp_path: Path) -> None:
    process = _process(model, tmp_path)
    try:
        client = Client(process.wait_until_ready())
        model.say("Try the plank.")
        client.text("Which exercise?")
        client.drain()
        assert client.texts() == ["Try the plank."]
        token = client.token("husam", "chat admin")
        [agent] = client.ok("GET", "/v1/agents", token=token)["items"]
        new = {"kind": "direct", "members": [{"kind": "agent", "id": agent["id"]}]}
        chat = client.ok("POST", "/v1/chats", new, token=token)["id"]
        message = {"text": "Morning run?", "client_id": "1"}
        model.say("At seven.")
        client.ok("POST", f"/v1/chats/{chat}/messages", message, token=token)
        client.drain()
        assert process.end(signal.SIGINT) == 0
    finally:
        process.kill()
    log = (tmp_path / "data" / "skein.log").read_text(encoding="utf-8")
    assert '"message":"SMS accepted by Twilio"' in log
    numbers = client.phone.removeprefix("+"), LINE.removeprefix("+")
    for told in ("Which exercise?", "plank", "Morning run?", "At seven.", *numbers):
        assert told not in log
    for line in (
        f"sms   {client.phone} -> {LINE}  Which exercise?",
        f"sms   {LINE} -> {client.phone}  Try the plank.",
        f"app   husam -> {chat}  Morning run?",
        f"app   Coach -> {chat}  At seven.",
    ):
        assert process.output.count(line) == 1, "the terminal shows each message once"


def test_a_port_in_use_is_one_line(model: ScriptedOpenAI, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = _process(model, tmp_path, port=port)
        assert process.wait() == 1
    _, problem = process.output.splitlines()  # after the step in which it stopped
    assert problem == f"skein: port {port} is in use: choose another, with SKEIN_PORT or --port"


def test_data_has_one_stack_at_a_time(
    start: StartStack, model: ScriptedOpenAI, tmp_path: Path
) -> None:
    start()
    second = Stack(Config(port=0, data_dir=tmp_path / "data", openai_base_url=model.base_url))
    with pytest.raises(DataInUseError):
        second.start()
    process = _process(model, tmp_path)
    assert process.wait() == 1
    _, problem = process.output.splitlines()
    assert problem.startswith(
        f"skein: another stack uses {tmp_path / 'data'}, at http://127.0.0.1:"
    )


def _process(
    model: ScriptedOpenAI, folder: Path, port: int = 0, **environment: str
) -> LocalProcess:
    environment["OPENAI_BASE_URL"] = model.base_url
    return LocalProcess(folder / "data", port=port, environment=environment)


def _now(client: Client) -> str:
    now: str = client.ok("POST", "/local/clock", {"advance_seconds": 0})["now"]
    return now


def test_demo_agent_is_in_the_directory(client: Client) -> None:
    agents = client.ok("GET", "/v1/agents/directory", token=client.token("dana"))["items"]
    assert ("Coach", "Gives advice on fitness") in [(a["name"], a["description"]) for a in agents]
