"""The small model on this machine, where it is installed."""

import json
import os
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from local.config import Config
from local.demo import LINE
from local.errors import ModelMissingError
from local.model.server import MODEL_NAME, LocalModel, model_file
from local.stack import Stack
from skein.channels.segments import segment_count
from skein.models.config.desk import DeskSettings
from tests.support.shell_pages import run_page

pytestmark = pytest.mark.slow

QUESTIONS = (
    "What is the capital of France?",
    "How do I cook rice?",
    "Should I stretch before I run?",
    "How many push-ups should I do?",
    "How do I get stronger legs?",
)
MAX_SECONDS = 60.0
APP_SECONDS = 60.0
POLL_SECONDS = 0.2


@pytest.fixture(autouse=True)
def _installed() -> None:
    try:
        model_file()
    except ModelMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with Stack(Config(port=0, data_dir=tmp_path)) as stack:
        yield stack


def call(url: str, body: dict[str, Any] | None = None, token: str = "", method: str = "") -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    way = method or ("GET" if body is None else "POST")
    request = urllib.request.Request(url, data, headers, method=way)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def text(url: str, phone: str, body: str) -> dict[str, Any]:
    """Text the agent of the demo, and return the first SMS that reaches the phone."""
    call(f"{url}/local/sms", {"from": phone, "to": LINE, "body": body})
    give_up = time.monotonic() + MAX_SECONDS
    while time.monotonic() < give_up:
        for sms in call(f"{url}/local/sms")["items"]:
            if sms["to"] == phone:
                return dict(sms)
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"no answer to {body!r}")


def test_local_model_answers_in_words(tmp_path: Path) -> None:
    from openai import OpenAI  # noqa: PLC0415 - takes long; each collection would import it

    model = LocalModel(tmp_path)
    try:
        with OpenAI(base_url=model.wait(), api_key="none", max_retries=0) as client:
            answer = client.chat.completions.create(
                model=MODEL_NAME,
                messages=[{"role": "user", "content": "What is the capital of France?"}],
                max_completion_tokens=30,
            )
    finally:
        model.stop()
    assert answer.model == MODEL_NAME
    assert "Paris" in (answer.choices[0].message.content or "")


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="the promise is for two cores")
def test_five_people_at_once_get_short_whole_answers(stack: Stack) -> None:
    phones = [f"+1500555200{n}" for n in range(len(QUESTIONS))]
    with ThreadPoolExecutor(len(QUESTIONS)) as people:
        answers = list(people.map(lambda *asked: text(stack.url, *asked), phones, QUESTIONS))
    for sms in answers:
        assert segment_count(sms["body"]) <= 2
        assert sms["body"][-1] in ".!?"


def test_sms_that_asks_for_a_human_receives_the_desk_notice(stack: Stack) -> None:
    told = text(stack.url, "+15005552009", "I want to talk to a human")
    assert told["body"] == DeskSettings().desk_notice


@pytest.mark.timeout(300)
def test_commands_of_tutorial_print_what_it_shows(stack: Stack) -> None:
    run_page("docs/tutorial.md", stack.url)


def test_group_in_app_gets_an_answer_of_an_agent_that_speaks_by_tools(stack: Stack) -> None:
    asked = {"sub": "husam", "tenant": "demo", "scope": "chat admin"}
    token = call(f"{stack.url}/local/token", asked)["token"]
    [agent] = call(f"{stack.url}/v1/agents", token=token)["items"]
    members = [{"kind": "agent", "id": agent["id"]}]
    new = {"kind": "group", "title": "Morning run", "members": members}
    chat = call(f"{stack.url}/v1/chats", new, token)["id"]
    messages = f"{stack.url}/v1/chats/{chat}/messages"
    call(messages, {"text": "Should I stretch before I run?", "client_id": "1"}, token)
    give_up = time.monotonic() + APP_SECONDS
    while len(said := call(messages, token=token)["items"]) < 2:
        assert time.monotonic() < give_up, "no answer"
        time.sleep(0.2)
    assert said[1]["sender"]["name"] == "Coach"
    assert said[1]["text"][-1] in ".!?"
