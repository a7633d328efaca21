"""Model servers on this machine are found, offered in one line, and used by the name of a model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.children import free_port
from local.config import Config
from local.greeting import greeting
from local.model.machine_models import (
    ModelServer,
    NoSuchModelError,
    model_servers,
    with_model,
)
from local.model.server import MODEL_NAME
from local.stack import Stack
from tests.support.scripted_openai import ScriptedOpenAI

OLLAMA = ModelServer("Ollama", 11434, ("llama3.2:latest", "qwen3:8b"))


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as started:
        yield started


def port_of(server: ScriptedOpenAI) -> int:
    return int(server.base_url.split(":")[2].partition("/")[0])


def test_server_that_lists_models_is_found(server: ScriptedOpenAI) -> None:
    server.models = ("llama3.2:latest",)
    ports = (("Ollama", port_of(server)), ("LM Studio", free_port()))
    [found] = model_servers(ports)
    assert (found.name, found.models) == ("Ollama", ("llama3.2:latest",))
    assert found.base_url == server.base_url


@pytest.mark.parametrize("models", [None, (), b"<html>", b'{"data": [3]}', 500])
def test_other_program_on_the_port_is_no_model_server(
    server: ScriptedOpenAI, models: bytes | int | tuple[str, ...] | None
) -> None:
    server.models = models
    assert model_servers((("llama.cpp", port_of(server)),)) == []


@pytest.mark.parametrize("name", ["llama3.2", "llama3.2:latest", "qwen3:8b"])
def test_chosen_model_is_asked_at_the_server_that_has_it(name: str) -> None:
    config = with_model(Config(settings={"SKEIN_RECALL": "false"}), name, [OLLAMA])
    assert config.openai_base_url == "http://127.0.0.1:11434/v1"
    assert config.settings == {
        "SKEIN_RECALL": "false",
        "SKEIN_DEFAULT_MODEL": name,
        "SKEIN_LIGHT_MODEL": name,
    }


def test_chosen_model_of_a_provider_with_a_key_stays_there() -> None:
    config = with_model(Config(openai_api_key="sk-1"), "gpt-5", [OLLAMA])
    assert config.openai_base_url is None
    assert config.settings["SKEIN_DEFAULT_MODEL"] == "gpt-5"


@pytest.mark.parametrize(
    ("servers", "why"),
    [([], "no model server answers here"), ([OLLAMA], "the models here are llama3.2:latest")],
)
def test_model_that_no_server_has_is_refused(servers: list[ModelServer], why: str) -> None:
    with pytest.raises(NoSuchModelError, match=why):
        with_model(Config(), "llama9", servers)


def test_greeting_offers_the_server_to_users_of_the_small_model_only(tmp_path: Path) -> None:
    stack = Stack(Config(data_dir=tmp_path))
    stack.url, stack.model = "http://127.0.0.1:8787", MODEL_NAME
    offer = "Ollama answers on this machine: `make run MODEL=llama3.2:latest` uses it"
    assert offer in greeting(stack, [OLLAMA])
    stack.model = "gpt-5"
    assert offer not in greeting(stack, [OLLAMA])
