"""The OpenAI adapter streams answers, and returns the same answer as without streaming."""

from collections.abc import Iterator
from types import SimpleNamespace as Chunk
from typing import Any

import pytest

from skein.adapters.openai.model import OpenAIModel
from skein.adapters.openai.stream import streamed_completion
from skein.errors import ModelFiltered, ModelRejected, Throttled, Unavailable
from skein.models.runs.completion import ModelMessage, ModelRequest
from tests.support.builders import tokens
from tests.support.scripted_openai import Answer, ScriptedOpenAI

USAGE = {"include_usage": True}


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(default="Rest on Monday.") as server:
        yield server


@pytest.fixture
def model(server: ScriptedOpenAI) -> Iterator[OpenAIModel]:
    model = OpenAIModel(api_key=lambda: "key", base_url=server.base_url)
    yield model
    model.close()


def request(seconds: float = 10) -> ModelRequest:
    return ModelRequest(
        model="gpt-4.1-mini",
        messages=(ModelMessage(role="user", content="What now?"),),
        max_output_tokens=100,
        timeout_seconds=seconds,
    )


def streamed(server: ScriptedOpenAI) -> list[bool]:
    """Return for each call whether it asked for a stream."""
    return [bool(call.body.get("stream")) for call in server.calls]


def test_words_are_reported_while_they_come(server: ScriptedOpenAI, model: OpenAIModel) -> None:
    heard: list[str] = []
    answer = model.stream(request(), heard.append)
    assert heard == ["Rest ", "Rest on ", "Rest on Monday."]
    assert answer.text == "Rest on Monday."
    [call] = server.calls
    assert call.body["stream_options"] == USAGE


@pytest.mark.parametrize("streams", [True, False])
def test_nul_characters_in_answer_are_removed(
    server: ScriptedOpenAI, model: OpenAIModel, streams: bool
) -> None:
    heard: list[str] = []
    server.say("Re\0st \0now.\0")
    asked = request()
    answer = model.stream(asked, heard.append) if streams else model.complete(asked)
    assert (answer.text, heard) == ("Rest now.", ["Rest ", "Rest now."] if streams else [])


@pytest.mark.parametrize(
    "scripted",
    [
        Answer("Rest.", usage=(7, 3), cached=2, reasoning=1),
        Answer("Well, ", finish_reason="length"),
        Answer("I can't", finish_reason="content_filter"),
        Answer("", refusal="I can't help with that."),
        Answer("Let me see.", tool_calls=[("one", {"a": "\u00e9"}), ("two", "{}")]),
        Answer(None, tool_calls=[("one", {})]),
        Answer("\ud83d\ude00 ok"),
        Answer(""),
    ],
)
def test_streamed_answer_equals_the_whole_one(
    server: ScriptedOpenAI, model: OpenAIModel, scripted: Answer
) -> None:
    server.then(scripted, scripted)
    assert model.stream(request(), lambda _: None) == model.complete(request())
    assert streamed(server) == [True, False]


@pytest.mark.parametrize("status", [400, 422])
def test_provider_that_refuses_to_stream_is_asked_for_whole_answers(
    server: ScriptedOpenAI, model: OpenAIModel, status: int
) -> None:
    server.fail(status, "Unknown parameter: stream_options")
    heard: list[str] = []
    assert model.stream(request(), heard.append).text == "Rest on Monday."
    assert model.stream(request(), heard.append).text == "Rest on Monday."
    assert streamed(server) == [True, False, False]
    assert heard == []


def test_provider_that_answers_whole_is_not_asked_to_stream_again(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    server.say("Whole.", streams=False)
    assert model.stream(request(), lambda _: None).text == "Rest on Monday."
    model.stream(request(), lambda _: None)
    assert streamed(server) == [True, False, False]


def test_provider_that_counts_no_tokens_is_not_asked_to_stream_again(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    server.say("Rest.", counts=False)
    assert model.stream(request(), lambda _: None).usage.output_tokens == 0
    assert model.stream(request(), lambda _: None).usage.output_tokens == 5
    assert streamed(server) == [True, False]


def test_tokens_that_the_provider_did_not_count_are_estimated(server: ScriptedOpenAI) -> None:
    model = OpenAIModel(api_key=lambda: "key", base_url=server.base_url, tokens=tokens)
    server.say("Rest on Monday.", counts=False)
    usage = model.stream(request(), lambda _: None).usage
    asked = [message.content for message in request().messages]
    assert usage.output_tokens == tokens().count("Rest on Monday.")
    assert usage.input_tokens == sum(map(tokens().count, asked)) > 0
    model.close()


def test_stream_that_breaks_off_is_asked_again_as_a_whole(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    server.say("Rest on Tuesday.", breaks_off=True)
    heard: list[str] = []
    assert model.stream(request(), heard.append).text == "Rest on Monday."
    assert heard
    assert streamed(server) == [True, False]
    model.stream(request(), heard.append)
    assert streamed(server)[2]


@pytest.mark.parametrize(
    ("status", "error"), [(429, Throttled), (503, Unavailable), (400, ModelRejected)]
)
def test_errors_are_those_of_whole_answers(
    server: ScriptedOpenAI, model: OpenAIModel, status: int, error: type[Exception]
) -> None:
    for _ in range(3):
        server.fail(status, headers={"retry-after": "60"})
    with pytest.raises(error):
        model.stream(request(), lambda _: None)


def test_refusal_by_a_content_filter_is_not_repeated(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    body = b'{"error": {"message": "no", "code": "content_filter", "type": null, "param": null}}'
    server.then(Answer(status=400, raw=body))
    with pytest.raises(ModelFiltered):
        model.stream(request(), lambda _: None)
    assert streamed(server) == [True]


def test_slow_stream_ends_with_the_time_out(server: ScriptedOpenAI, model: OpenAIModel) -> None:
    server.say("one two three four five six", pause=0.5)
    heard: list[str] = []
    with pytest.raises(Unavailable):
        model.stream(request(seconds=1.2), heard.append)
    assert 1 <= len(heard) <= 3


def test_halves_of_a_character_are_reported_as_one() -> None:
    def chunk(content: str, end: str | None = None) -> Chunk:
        delta = Chunk(content=content)
        return Chunk(model="m", usage=None, choices=[Chunk(delta=delta, finish_reason=end)])

    heard: list[str] = []
    chunks: list[Any] = [chunk("Hi \ud83d"), chunk("\ude00"), chunk("!", "stop")]
    completion = streamed_completion(chunks, heard.append)
    assert heard == ["Hi ", "Hi \U0001f600", "Hi \U0001f600!"]
    assert completion is not None
    assert completion.choices[0].message.content == "Hi \U0001f600!"


def test_streamed_calls_without_ids_and_indexes_begin_with_their_names() -> None:
    def chunk(name: str | None, arguments: str, end: str | None = None) -> Chunk:
        function = Chunk(name=name, arguments=arguments)
        call = Chunk(index=None, id=None, type="function", function=function)
        delta = Chunk(content=None, tool_calls=[call])
        return Chunk(model="m", usage=None, choices=[Chunk(delta=delta, finish_reason=end)])

    chunks: list[Any] = [chunk("one", '{"a"'), chunk(None, ": 1}"), chunk("two", "{}", "stop")]
    completion = streamed_completion(chunks, lambda _: None)
    assert completion is not None
    calls: Any = completion.choices[0].message.tool_calls
    told = [(call.function.name, call.function.arguments) for call in calls]
    assert told == [("one", '{"a": 1}'), ("two", "{}")]
