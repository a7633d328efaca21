"""The local stack's model cannot be used, and later can: reports, notices and answers."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.children import free_port
from local.config import Config
from local.stack import Stack
from skein.settings import Settings
from tests.e2e.client import Client
from tests.e2e.process import LocalProcess
from tests.support.scripted_openai import Answer, ScriptedOpenAI
from tests.support.template import deployed_template

SORRY = Settings().apology_text
PHONE = "+15005550199"
PATIENCE_SECONDS = 60.0


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[list[LocalProcess]]:
    """Processes that are killed at the end of the test."""
    started: list[LocalProcess] = []
    yield started
    for process in started:
        process.kill()


def wait_for(holds: Callable[[], object], what: str) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < give_up, what
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("failure", "advice"),
    [
        # These differ from a server that is not there in the advice alone.
        pytest.param(
            Answer("bad key", status=401),
            "Correct OPENAI_API_KEY and start again.",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            Answer("no such model", status=404),
            "Correct SKEIN_DEFAULT_MODEL (or the path",
            marks=pytest.mark.slow,
        ),
        (None, "Start the server there, or correct OPENAI_BASE_URL"),
    ],
    ids=["refused key", "unknown model", "unreachable"],
)
def test_unusable_model_is_reported_and_answers_when_it_is_back(
    failure: Answer | None, advice: str, tmp_path: Path, stopped: list[LocalProcess]
) -> None:
    port, begun = free_port(), datetime.now(UTC)
    server = ScriptedOpenAI(default=failure, port=port)
    server.models = ("another",)
    with ExitStack() as serving:
        if failure is not None:
            serving.enter_context(server)
        environment = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "key"}
        process = LocalProcess(tmp_path / "data", environment=environment)
        stopped.append(process)
        client = Client(process.wait_until_ready())
        wait_for(lambda: advice in process.output, "no report at the start")
        at_start = process.output.count(advice)

        client.text("Hello?", sender=PHONE)
        token = client.token("husam", scope="chat admin")
        [agent] = client.ok("GET", "/v1/agents", token=token)["items"]
        members = [{"kind": "agent", "id": agent["id"]}]
        chat = client.ok("POST", "/v1/chats", {"kind": "direct", "members": members}, token=token)
        messages = f"/v1/chats/{chat['id']}/messages"
        client.ok("POST", messages, {"text": "Hello?", "client_id": "1"}, token=token)
        wait_for(lambda: process.output.count(advice) > at_start, "no report of a failed answer")
        for _ in range(3):
            client.turn(60)
        said = client.ok("GET", messages, token=token)["items"]
        assert [(one["kind"], one["text"]) for one in said[1:]] == [("notice", SORRY)]
        assert client.texts(PHONE) == [SORRY]

        client.turn(300)
        listed = f"/v1/agents/{agent['id']}/runs?day={begun:%Y-%m-%d}"
        runs = client.ok("GET", listed, token=token)["items"]
        assert {run["status"] for run in runs} == {"running"}

        server.default = "Here I am."
        if failure is None:
            serving.enter_context(server)
        for _ in range(3):
            client.turn(60)
        assert client.texts(PHONE) == [SORRY, "Here I am."]
        assert client.ok("GET", messages, token=token)["items"][-1]["text"] == "Here I am."
        assert "answers again" in process.output
        assert process.end(signal.SIGINT) == 0


def test_light_model_of_a_base_url_is_the_default_model(tmp_path: Path) -> None:
    with ScriptedOpenAI(default="Hi") as server:
        server.models = ("big",)
        config = Config(
            port=0,
            data_dir=tmp_path / "data",
            openai_base_url=server.base_url,
            settings={"SKEIN_DEFAULT_MODEL": "big"},
        )
        with Stack(config, template=deployed_template()) as stack:
            client = Client(stack.url)
            for _ in range(5):  # with their answers, enough messages for a chat summary
                client.text("Hello?", sender=PHONE)
                client.drain()
            wait_for(lambda: server.summary_calls, "no summary was asked for")
        assert {call.body["model"] for call in server.summary_calls} == {"big"}
