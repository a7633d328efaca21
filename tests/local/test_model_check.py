"""The check of the model's API at the start of the local stack."""

import logging
import socket
from collections.abc import Iterator

import pytest

from local.model.check import ModelCheck
from local.model.reporting import ModelApi
from skein.adapters.openai.model import OpenAIModel
from tests.support.scripted_openai import Answer, ScriptedOpenAI

DEFAULT, LIGHT = "big", "small"


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(default="Hi") as server:
        server.models = (DEFAULT, LIGHT)
        yield server


def problems(base_url: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Run a check and return its log lines."""
    model = OpenAIModel(api_key=lambda: "key", base_url=base_url)
    check = ModelCheck(model, ModelApi(base_url, DEFAULT, LIGHT))
    with caplog.at_level(logging.WARNING, "local.model.check"):
        check.check()
    model.close()
    return list(caplog.messages)


def test_listed_models_are_no_problem_and_are_asked_nothing(
    server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    assert problems(server.base_url, caplog) == []
    assert server.calls == []


def test_unlisted_model_that_answers_is_no_problem(
    server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.models = (f"{DEFAULT}:latest", LIGHT)
    assert problems(server.base_url, caplog) == []
    assert [call.body["model"] for call in server.calls] == [DEFAULT]


def test_unlisted_model_that_is_unknown_is_reported_with_the_listed_ones(
    server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.models = ("a", "b")
    server.default = Answer("no such model", status=404)
    [line] = problems(server.base_url, caplog)
    assert f"no answer from {DEFAULT} at {server.base_url}" in line
    assert "Correct SKEIN_DEFAULT_MODEL" in line
    assert "The API lists a, b." in line


def test_unlisted_model_that_is_refused_is_reported(
    server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.models = ("a", "b")
    server.default = Answer("not a valid model", status=400)
    [line] = problems(server.base_url, caplog)
    assert "Correct SKEIN_DEFAULT_MODEL" in line


def test_api_without_a_list_is_asked_for_one_token(
    server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.models = None
    server.then(Answer("ok"), Answer("too short an answer", status=400))
    assert problems(server.base_url, caplog) == []
    assert [call.body["model"] for call in server.calls] == [DEFAULT, LIGHT]


def test_refused_key_is_reported(server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture) -> None:
    server.models = 401
    [line] = problems(server.base_url, caplog)
    assert "Correct OPENAI_API_KEY and start again" in line


def test_refused_key_of_an_api_without_a_list_is_reported(
    server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.models = None
    server.default = Answer("bad key", status=401)
    [line] = problems(server.base_url, caplog)
    assert "Correct OPENAI_API_KEY and start again" in line


def test_unreachable_address_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        [line] = problems(base_url, caplog)
    assert f"at {base_url}: the model's address cannot be reached" in line
    assert "correct OPENAI_BASE_URL and start again" in line
