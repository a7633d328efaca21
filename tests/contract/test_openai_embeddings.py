"""Embeddings by the provider's API, against a server on loopback."""

import logging
from collections.abc import Iterator

import pytest

from skein.adapters.openai import embeddings as openai_embeddings
from skein.adapters.openai.embeddings import (
    BATCH_TEXTS,
    TEXT_BYTES,
    OpenAIEmbeddings,
    QueryEmbeddings,
)
from skein.adapters.openai.model import OpenAIModel
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.bootstrap.ports import Ports
from skein.errors import KeyRefused, ModelUnknown, Throttled, Unavailable
from skein.models.common.vector_search import DIMENSIONS
from skein.settings import Settings
from tests.fakes.system import FixedClock, MemoryMetrics
from tests.support.builders import NOON
from tests.support.scripted_openai import Answer, ScriptedOpenAI, vector_of

MODEL = "text-embedding-3-small"


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as running:
        yield running


@pytest.fixture
def client(server: ScriptedOpenAI) -> Iterator[OpenAIModel]:
    made = OpenAIModel(api_key=lambda: "key", base_url=server.base_url)
    yield made
    made.close()


@pytest.fixture
def embeddings(client: OpenAIModel) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(client, MODEL)


def inputs(server: ScriptedOpenAI) -> list[list[str]]:
    return [list(call.body["input"]) for call in server.embedding_calls]


def test_embed_asks_for_256_dimensions_and_returns_vectors_in_order(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI
) -> None:
    first, second = embeddings.embed(["the dog barks", "a cat"])
    assert first.vector == pytest.approx(vector_of("the dog barks", DIMENSIONS))
    assert second.vector == pytest.approx(vector_of("a cat", DIMENSIONS))
    assert (first.weight, second.weight) == (3, 2)
    [call] = server.embedding_calls
    assert call.body == {
        "model": MODEL,
        "input": ["the dog barks", "a cat"],
        "dimensions": 256,
        "encoding_format": "float",
    }
    assert call.headers["authorization"] == "Bearer key"


def test_embed_name_and_dimensions_are_those_of_the_model(embeddings: OpenAIEmbeddings) -> None:
    assert (embeddings.name, embeddings.dimensions) == (MODEL, 256)


def test_embed_many_texts_sends_batches(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI
) -> None:
    texts = [f"text {number}" for number in range(BATCH_TEXTS + 1)]
    assert len(embeddings.embed(texts)) == len(texts)
    assert list(map(len, inputs(server))) == [BATCH_TEXTS, 1]


def test_embed_large_texts_sends_smaller_batches(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_embeddings, "BATCH_BYTES", 25)
    embeddings.embed(["a" * 10, "b" * 10, "c" * 10, "d" * 30])
    assert inputs(server) == [["a" * 10, "b" * 10], ["c" * 10], ["d" * 30]]


def test_embed_cuts_a_text_in_whole_characters(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI
) -> None:
    embeddings.embed(["é" * TEXT_BYTES])
    assert inputs(server) == [["é" * (TEXT_BYTES // 2)]]


def test_embed_a_text_without_words_asks_nothing(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI
) -> None:
    [found] = embeddings.embed([" \n"])
    assert (set(found.vector), found.weight) == ({0.0}, 0.0)
    assert not server.embedding_calls


def test_embed_the_same_text_again_asks_nothing(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert embeddings.embed(["dog", "dog"]) == embeddings.embed(["dog"]) * 2
    assert inputs(server) == [["dog"]]
    monkeypatch.setattr(openai_embeddings, "KEPT_TEXTS", 1)
    embeddings.embed(["cat"])
    embeddings.embed(["dog"])
    assert inputs(server) == [["dog"], ["cat"], ["dog"]]


def test_embed_a_refused_text_has_no_meaning_and_the_others_have(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI
) -> None:
    server.embedding_faults += [Answer("bad input", status=400), Answer("bad input", status=400)]
    refused, accepted = embeddings.embed(["bad", "good"])
    assert (set(refused.vector), refused.weight) == ({0.0}, 0.0)
    assert any(accepted.vector)
    assert inputs(server) == [["bad", "good"], ["bad"], ["good"]]


@pytest.mark.parametrize(
    ("status", "error"), [(401, KeyRefused), (404, ModelUnknown), (429, Throttled)]
)
def test_embed_without_the_provider_raises(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI, status: int, error: type[Exception]
) -> None:
    answer = Answer("no", status=status, headers={"x-should-retry": "false"})
    server.embedding_faults.append(answer)
    with pytest.raises(error):
        embeddings.embed(["dog"])


def test_embed_is_repeated_once_after_a_server_error(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI
) -> None:
    server.embedding_faults.append(Answer("down", status=500))
    assert any(embeddings.embed(["dog"])[0].vector)
    assert len(server.embedding_calls) == 2


def test_embed_that_takes_too_long_raises(client: OpenAIModel, server: ScriptedOpenAI) -> None:
    server.embedding_faults.append(Answer(latency=5))
    with pytest.raises(Unavailable, match="too long"):
        OpenAIEmbeddings(client, MODEL, seconds=0.1).embed(["dog"])


@pytest.mark.parametrize(
    "body",
    [
        b'{"data": [{"index": 0, "embedding": [1.0, 0.0]}]}',
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": null}]}',
        b"[]",
        b"no JSON",
    ],
)
def test_embed_with_an_unexpected_answer_raises(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI, body: bytes
) -> None:
    server.embedding_faults.append(Answer(raw=body))
    with pytest.raises(Unavailable):
        embeddings.embed(["dog"])


def query_embeddings(base_url: str) -> tuple[Ports, MemoryMetrics, FixedClock]:
    metrics, clock = MemoryMetrics(), FixedClock(NOON)
    settings = Settings(openai_base_url=base_url, openai_secret="openai", embeddings_model=MODEL)
    secrets = {"openai": {"api_key": "key"}}
    return Ports(settings, metrics=metrics, secrets=secrets, clock=clock), metrics, clock


def test_text_with_a_lone_surrogate_is_sent_with_a_question_mark(
    embeddings: OpenAIEmbeddings, server: ScriptedOpenAI
) -> None:
    [found] = embeddings.embed(["the dog \ud800"])
    assert any(found.vector)
    assert inputs(server) == [["the dog ?"]]


def test_query_without_the_provider_has_no_meaning_and_is_counted(
    server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    ports, metrics, clock = query_embeddings(server.base_url)
    embeddings = ports.query_embeddings
    assert any(embeddings.embed(["dog"])[0].vector)
    server.embedding_faults.append(Answer("no", status=404))
    with caplog.at_level(logging.WARNING):
        [found] = embeddings.embed(["cat"])
    assert (set(found.vector), found.weight) == ({0.0}, 0.0)
    assert metrics.counts["RecallWithoutEmbeddings"] == 1
    assert "recall searches by words only" in caplog.text
    assert (embeddings.name, embeddings.dimensions) == (MODEL, 256)
    calls = len(server.embedding_calls)
    assert not any(embeddings.embed(["bird"])[0].vector)  # without a call
    assert len(server.embedding_calls) == calls
    clock.advance(30)
    assert any(embeddings.embed(["bird"])[0].vector)


def test_ports_with_a_model_of_embeddings_use_the_provider(server: ScriptedOpenAI) -> None:
    ports, *_ = query_embeddings(server.base_url)
    assert isinstance(ports.embeddings, OpenAIEmbeddings)
    assert isinstance(ports.query_embeddings, QueryEmbeddings)


def test_ports_without_a_model_of_embeddings_use_those_inside_the_function() -> None:
    ports = Ports(Settings())
    assert isinstance(ports.embeddings, StaticEmbeddings)
    assert ports.query_embeddings is ports.embeddings
