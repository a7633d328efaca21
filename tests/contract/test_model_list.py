"""The list of the provider's models: the one in memory, and the one of an OpenAI-compatible API."""

from collections.abc import Iterator

import pytest

from skein.adapters.openai.model import OpenAIModel
from skein.errors import (
    KeyRefused,
    ModelRejected,
    ModelUnknown,
    SkeinError,
    Unavailable,
    Unreachable,
)
from skein.ports import ModelList
from tests.fakes.model_list import MemoryModelList
from tests.support.scripted_openai import ScriptedOpenAI

NAMES = ("big", "small")


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        server.models = NAMES
        yield server


@pytest.fixture
def openai(server: ScriptedOpenAI) -> Iterator[OpenAIModel]:
    model = OpenAIModel(api_key=lambda: "key", base_url=server.base_url)
    yield model
    model.close()


@pytest.fixture(params=["memory", "openai"])
def model_list(request: pytest.FixtureRequest) -> ModelList:
    if request.param == "memory":
        return MemoryModelList(frozenset(NAMES))
    listed: ModelList = request.getfixturevalue("openai")
    return listed


def test_models_are_listed_by_name(model_list: ModelList) -> None:
    assert model_list.models(seconds=5) == frozenset(NAMES)


def test_empty_list_is_no_error(server: ScriptedOpenAI, openai: OpenAIModel) -> None:
    server.models = ()
    assert openai.models(seconds=5) == MemoryModelList().models(seconds=5) == frozenset()


@pytest.mark.parametrize(
    ("models", "error"),
    [(None, ModelUnknown), (401, KeyRefused), (400, ModelRejected), (b"nonsense", Unavailable)],
    ids=str,
)
def test_list_that_fails_raises_an_error_of_the_port(
    server: ScriptedOpenAI, openai: OpenAIModel, models: int | bytes | None, error: type[SkeinError]
) -> None:
    server.models = models
    with pytest.raises(error):
        openai.models(seconds=5)


def test_unreachable_provider_fails_within_the_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    model = OpenAIModel(api_key=lambda: "key", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(Unreachable):
        model.models(seconds=3)
    assert sum(waits) < 3
    model.close()
