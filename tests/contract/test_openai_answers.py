"""The OpenAI adapter asks for an answer by a schema where one is wanted, and gives its text."""

import gc
import json
import socket
import threading
from collections.abc import Iterator

import pytest

from skein.adapters.openai.model import OpenAIModel
from skein.errors import (
    KeyRefused,
    MissingSecret,
    ModelFiltered,
    ModelRejected,
    ModelUnknown,
    SkeinError,
    Throttled,
    Unavailable,
    Unreachable,
)
from skein.models.runs.completion import ImageRef, ModelMessage, ModelRequest, TokenUsage
from skein.summaries.model import AGENT_SCHEMA, CHAT_SCHEMA
from tests.support.fakes import NOTHING_NEW
from tests.support.scripted_openai import Answer, ScriptedOpenAI


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(default="Hello!") as server:
        yield server


def _request(schema: dict[str, object] | None) -> ModelRequest:
    return ModelRequest(
        model="gpt-4.1-nano",
        messages=(ModelMessage(role="user", content="What is new?"),),
        max_output_tokens=100,
        timeout_seconds=10,
        answer_schema=schema,
    )


@pytest.fixture
def model(server: ScriptedOpenAI) -> Iterator[OpenAIModel]:
    model = OpenAIModel(api_key=lambda: "key", base_url=server.base_url)
    yield model
    model.close()


@pytest.mark.parametrize("schema", [AGENT_SCHEMA, CHAT_SCHEMA])
def test_an_answer_by_a_schema_is_asked_for_strictly(
    server: ScriptedOpenAI, model: OpenAIModel, schema: dict[str, object]
) -> None:
    answer = model.complete(_request(schema))
    assert (answer.text, answer.usage) == (
        NOTHING_NEW,
        TokenUsage(input_tokens=10, output_tokens=5),
    )
    [call] = server.summary_calls
    assert call.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }
    assert "tools" not in call.body


@pytest.mark.parametrize(("host", "sent"), [("127.0.0.1", True), ("api.openai.com", False)])
def test_key_of_the_prompt_cache_is_sent_to_openai_alone(
    server: ScriptedOpenAI,
    model: OpenAIModel,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    *,
    sent: bool,
) -> None:
    """Others may refuse it; a server on loopback stands for both."""
    monkeypatch.setattr("skein.adapters.openai.model.OPENAI_HOST", host)
    model.complete(_request(None).model_copy(update={"cache_key": "of agent and chat"}))
    assert server.calls[0].body.get("prompt_cache_key") == ("of agent and chat" if sent else None)


def test_request_without_schema_sends_no_response_format(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    assert model.complete(_request(None)).text == "Hello!"
    assert "response_format" not in server.calls[0].body


def test_pictures_are_parts_of_their_message_and_their_bytes_are_sent_as_data_urls(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    image = ImageRef(
        chat_id="chat_1",
        media_id="med_1",
        seq=1,
        number=1,
        content_type="image/png",
        width=1_024,
        height=1_024,
    )
    gone = image.model_copy(update={"media_id": "med_2"})
    shown = ModelMessage(role="user", content="Look <|im_end|>", images=(image, gone))
    asked = _request(None)
    model.complete(
        asked.model_copy(
            update={
                "messages": (shown, *asked.messages),
                "image_bytes": {"med_1": b"\x89PNG"},
                "image_detail": "low",
            }
        )
    )
    pictured, plain = server.calls[0].body["messages"]
    words, picture = pictured["content"]
    assert (words["type"], "<|im_end|>" in words["text"]) == ("text", False)
    url = "data:image/png;base64,iVBORw=="
    assert picture == {"type": "image_url", "image_url": {"url": url, "detail": "low"}}
    assert plain == {"role": "user", "content": "What is new?"}


def test_schema_request_to_provider_without_support_is_rejected(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    server.summaries.append(Answer("unknown parameter: response_format", status=400))
    with pytest.raises(ModelRejected):
        model.complete(_request(AGENT_SCHEMA))


@pytest.mark.parametrize(("status", "kind"), [(400, ModelRejected), (401, Unavailable)])
def test_refusal_has_the_codes_and_not_the_text_of_the_provider(
    server: ScriptedOpenAI, model: OpenAIModel, status: int, kind: type[SkeinError]
) -> None:
    server.then(Answer("Invalid prompt: 'What is new?'", status=status))
    with pytest.raises(kind) as raised:
        model.complete(_request(None))
    assert "new" not in str(raised.value)
    assert f"Error status_code={status}" in str(raised.value)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, None, KeyRefused),
        (403, None, KeyRefused),
        (404, None, ModelUnknown),
        (404, "model_not_found", ModelUnknown),
        (405, None, ModelUnknown),
        (501, None, ModelUnknown),
        (400, "model_not_found", ModelUnknown),
        (400, 400, ModelRejected),
        (402, None, Throttled),
        (408, None, Unavailable),
        (422, None, ModelRejected),
    ],
)
def test_refusal_is_mapped_by_status_and_code(
    server: ScriptedOpenAI,
    model: OpenAIModel,
    status: int,
    code: str | int | None,
    kind: type[SkeinError],
) -> None:
    body = json.dumps({"error": {"message": "no", "code": code}}).encode()
    server.default = Answer(status=status, raw=body, headers={"retry-after-ms": "1"})
    with pytest.raises(kind) as raised:
        model.complete(_request(None))
    assert type(raised.value) is kind


@pytest.mark.parametrize("fields", [{"type": "invalid_model"}, {"param": "model"}])
def test_other_fields_may_name_the_model_as_unknown(
    server: ScriptedOpenAI, model: OpenAIModel, fields: dict[str, str]
) -> None:
    body = json.dumps({"error": {"message": "no", **fields}}).encode()
    server.then(Answer(status=400, raw=body))
    with pytest.raises(ModelUnknown):
        model.complete(_request(None))


@pytest.mark.parametrize(
    "error",
    [
        {"message": "The model `x` does not exist", "code": None},
        {"message": "model 'gpt-4.1' not found, try pulling it first"},
        {"message": "Model Not Exist", "code": "invalid_request_error"},
        {"message": "x/y is not a valid model ID", "code": 400},
        "Invalid model: x",
    ],
)
def test_message_without_code_may_name_the_model_as_unknown(
    server: ScriptedOpenAI, model: OpenAIModel, error: object
) -> None:
    server.then(Answer(status=400, raw=json.dumps({"error": error}).encode()))
    with pytest.raises(ModelUnknown):
        model.complete(_request(None))


@pytest.mark.parametrize(
    "error",
    [
        {"message": "The model `x` does not exist", "code": "context_length_exceeded"},
        {"message": "Invalid prompt: 'the model x does not exist'"},
        {"message": "The model does not support images"},
    ],
)
def test_message_about_another_fault_rejects_the_request(
    server: ScriptedOpenAI, model: OpenAIModel, error: object
) -> None:
    server.then(Answer(status=400, raw=json.dumps({"error": error}).encode()))
    with pytest.raises(ModelRejected) as raised:
        model.complete(_request(None))
    assert type(raised.value) is ModelRejected


@pytest.mark.parametrize("status", [400, 403])
@pytest.mark.parametrize(
    "fields",
    [
        {"code": "content_filter", "param": "prompt"},
        {"type": "content_policy_violation"},
        {"code": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}},
        {"code": 403, "metadata": {"reasons": ["violence"], "flagged_input": "What is"}},
        {"code": 403, "metadata": {"error_type": "content_policy_violation"}},
    ],
)
def test_content_filter_error_raises_its_own_error(
    server: ScriptedOpenAI, model: OpenAIModel, fields: dict[str, object], status: int
) -> None:
    body = json.dumps({"error": {"message": "The prompt triggered the filter", **fields}})
    server.then(Answer(status=status, raw=body.encode()))
    with pytest.raises(ModelFiltered) as raised:
        model.complete(_request(None))
    assert "What is" not in str(raised.value)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "error",
    [
        {"message": "content_filter", "code": 403},
        {"message": "no", "code": "permission_denied", "metadata": {"provider_name": "x"}},
        {"message": "no", "metadata": "flagged_input reasons"},
        "content_filter",
    ],
)
def test_refusal_with_403_without_a_filters_code_is_a_refused_key(
    server: ScriptedOpenAI, model: OpenAIModel, error: object
) -> None:
    server.then(Answer(status=403, raw=json.dumps({"error": error}).encode()))
    with pytest.raises(KeyRefused):
        model.complete(_request(None))


def test_address_without_server_is_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        model = OpenAIModel(api_key=lambda: "key", base_url=f"http://127.0.0.1:{port}/v1")
        with pytest.raises(Unreachable):
            model.complete(_request(None))
        with pytest.raises(Unreachable):
            model.models(seconds=5)
        model.close()


@pytest.mark.parametrize("missing", [MissingSecret("gone"), None])
def test_missing_key_is_a_refused_key_and_no_fault_of_the_run(missing: Exception | None) -> None:
    def no_key() -> None:
        if missing is not None:
            raise missing

    with pytest.raises(KeyRefused):
        OpenAIModel(api_key=no_key, base_url="http://127.0.0.1:1/v1").complete(_request(None))


def test_key_that_is_not_ascii_is_refused(server: ScriptedOpenAI) -> None:
    model = OpenAIModel(api_key=lambda: "schlüssel", base_url=server.base_url)
    with pytest.raises(KeyRefused):
        model.complete(_request(None))
    model.close()


def test_models_are_listed_by_name(server: ScriptedOpenAI, model: OpenAIModel) -> None:
    server.models = ("a", "b")
    assert model.models(seconds=5) == {"a", "b"}
    assert not server.calls


def test_provider_without_model_list_raises_model_unknown(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    server.models = None
    with pytest.raises(ModelUnknown):
        model.models(seconds=5)


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"[]", b'{"data": [null]}', b"null"])
def test_list_of_models_of_another_form_is_an_outage(
    server: ScriptedOpenAI, model: OpenAIModel, body: bytes
) -> None:
    server.models = body
    with pytest.raises(Unavailable):
        model.models(seconds=5)


def test_probe_asks_for_one_token(server: ScriptedOpenAI, model: OpenAIModel) -> None:
    model.probe("gpt-4.1-nano", seconds=5)
    [call] = server.calls
    assert (call.body["model"], call.body["max_completion_tokens"]) == ("gpt-4.1-nano", 1)


@pytest.mark.parametrize(
    "header",
    [
        ("retry-after", "30"),
        ("retry-after-ms", "30000"),
        ("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT"),
    ],
)
def test_no_function_sleeps_for_as_long_as_a_busy_provider_asks(
    server: ScriptedOpenAI, model: OpenAIModel, header: tuple[str, str]
) -> None:
    server.then(Answer("slow down", status=429, headers=dict([header])))
    with pytest.raises(Throttled):
        model.complete(_request(None))
    assert len(server.calls) == 1


@pytest.mark.parametrize("header", [("retry-after", "0.01"), ("retry-after-ms", "1")])
def test_a_short_pause_that_a_provider_asks_for_is_made(
    server: ScriptedOpenAI, model: OpenAIModel, header: tuple[str, str]
) -> None:
    server.then(Answer("slow down", status=429, headers=dict([header])))
    assert model.complete(_request(None)).text == "Hello!"
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    "body",
    [
        "<html>Sign in to the network</html>",
        "",
        "null",
        "[1]",
        '"Hello!"',
        '{"choices": null}',
        '{"choices": []}',
        '{"choices": [null]}',
        '{"choices": [{"message": null}]}',
        '{"choices": [{"message": {"content": 42}}]}',
        '{"choices": [{"message": {"content": [{"type": "text", "text": "Hello!"}]}}]}',
        '{"choices": [{"message": {"tool_calls": [{"type": "function", "id": null}]}}]}',
        '{"choices": [{"message": {"tool_calls": [{"type": "function", "id": "1"}]}}]}',
    ],
)
@pytest.mark.parametrize("media_type", ["application/json", "text/html"])
def test_unreadable_answer_is_an_outage(
    server: ScriptedOpenAI, model: OpenAIModel, body: str, media_type: str
) -> None:
    server.then(Answer(raw=body.encode(), headers={"content-type": media_type}))
    with pytest.raises(Unavailable, match=r"^the model's answer (has|is) ") as raised:
        model.complete(_request(None))
    assert "network" not in str(raised.value)


@pytest.mark.parametrize(
    "usage",
    [
        "null",
        "{}",
        '{"prompt_tokens": "7"}',
        '{"prompt_tokens": -7}',
        '{"prompt_tokens_details": "none"}',
        '{"prompt_tokens_details": {"cached_tokens": null}}',
    ],
)
def test_answer_without_valid_usage_counts_zero_tokens(
    server: ScriptedOpenAI, model: OpenAIModel, usage: str
) -> None:
    said = '{"choices": [{"message": {"content": "Hello!"}}], "usage": ' + usage + "}"
    server.then(Answer(raw=said.encode()))
    answer = model.complete(_request(None))
    assert (answer.text, answer.usage) == ("Hello!", TokenUsage(input_tokens=0, output_tokens=0))


def test_garbage_collected_model_closes_its_connection(server: ScriptedOpenAI) -> None:
    model = OpenAIModel(api_key=lambda: "key", base_url=server.base_url)
    model.complete(_request(None))
    assert model._connection is not None
    connection = model._connection.client._client
    del model
    gc.collect()
    assert connection.is_closed


@pytest.mark.parametrize(("cached", "counted"), [(None, 0), (0, 0), (1_024, 1_024)])
def test_cached_tokens_are_counted_if_the_provider_reports_them(
    server: ScriptedOpenAI, model: OpenAIModel, cached: int | None, counted: int
) -> None:
    server.then(Answer("Hi", usage=(1_200, 5), cached=cached))
    usage = model.complete(_request(None)).usage
    assert usage == TokenUsage(input_tokens=1_200, output_tokens=5, cached_tokens=counted)


def test_slow_model_may_take_the_whole_time_of_the_call(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    server.then(Answer("Hello!"))
    model.complete(_request(None).model_copy(update={"timeout_seconds": 90}))
    assert float(server.calls[0].headers["x-stainless-read-timeout"]) == 90


def test_call_is_not_repeated_after_its_time(server: ScriptedOpenAI, model: OpenAIModel) -> None:
    server.then(Answer("Hello!", latency=0.2), Answer("Hello!"))
    with pytest.raises(Unavailable, match="too long"):
        model.complete(_request(None).model_copy(update={"timeout_seconds": 0.1}))
    for thread in threading.enumerate():
        if thread.name == "within":
            thread.join()
    assert len(server.calls) == 1


def test_an_answer_that_trickles_in_has_no_more_time_than_any_other(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    """Each byte comes in time, and the last one would come in a minute."""
    server.then(Answer("Hello!", trickle=0.2))
    request = _request(None).model_copy(update={"timeout_seconds": 1})
    with pytest.raises(Unavailable, match="too long"):
        model.complete(request)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Answer("Hello!"), None),
        (Answer("Hello!", finish_reason="length"), "cut_off"),
        (Answer(None, finish_reason="length"), "cut_off"),
        (Answer("Hel", finish_reason="MAX_TOKENS"), "cut_off"),
        (Answer("Hel", finish_reason="content_filter"), "filtered"),
        (Answer(None, refusal="I can't help with that."), "refused"),
    ],
)
def test_answer_that_is_not_whole_has_a_fault(
    server: ScriptedOpenAI, model: OpenAIModel, answer: Answer, fault: str | None
) -> None:
    server.then(answer)
    assert model.complete(_request(None)).fault == fault


def test_refusal_has_the_words_of_the_refusal(server: ScriptedOpenAI, model: OpenAIModel) -> None:
    server.then(Answer(None, refusal="I can't help with that."))
    assert model.complete(_request(None)).text == "I can't help with that."


def test_reasoning_tokens_are_counted_as_part_of_the_output(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    server.then(Answer("Hi", usage=(10, 50), reasoning=40))
    usage = model.complete(_request(None)).usage
    assert usage == TokenUsage(input_tokens=10, output_tokens=50, reasoning_tokens=40)


@pytest.mark.parametrize(
    ("name", "known", "limit"),
    [
        ("gpt-4.1-mini", False, 100),
        ("gpt-4o", False, 100),
        ("gpt-4.1-mini", True, 1_100),
        ("o4-mini", False, 1_100),
        ("gpt-5-nano", False, 1_100),
        ("openai/gpt-5", False, 1_100),
        ("deepseek-reasoner", False, 1_100),
        ("moonshot/kimi-k2-thinking", False, 1_100),
    ],
)
def test_limit_of_a_reasoning_model_has_room_for_its_reasoning(
    server: ScriptedOpenAI, name: str, *, known: bool, limit: int
) -> None:
    model = OpenAIModel(api_key=lambda: "key", base_url=server.base_url, reasoning_tokens=1_000)
    model.complete(_request(None).model_copy(update={"model": name, "reasons": known}))
    model.close()
    assert server.calls[0].body["max_completion_tokens"] == limit


def _with_calls(*calls: dict[str, object]) -> Answer:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": message}]
    return Answer(raw=json.dumps({"model": "m", "choices": choices}).encode())


@pytest.mark.parametrize("given", [{"id": None}, {"id": ""}, {}])
def test_tool_call_without_an_id_gets_a_stable_one(
    server: ScriptedOpenAI, model: OpenAIModel, given: dict[str, object]
) -> None:
    function = {"name": "wait", "arguments": "{}"}
    one = given | {"type": "function", "function": function}
    named = one | {"id": "mine"}
    server.then(_with_calls(one, named, one, named), _with_calls(one, named, one, named))
    calls = model.complete(_request(None)).tool_calls
    assert [call.id for call in calls] == ["call_1_1", "mine", "call_1_3", "call_1_4"]
    assert {call.name for call in calls} == {"wait"}
    assert model.complete(_request(None)).tool_calls == calls


def test_repaired_ids_differ_between_the_steps_of_a_run(
    server: ScriptedOpenAI, model: OpenAIModel
) -> None:
    call: dict[str, object] = {"id": None, "type": "function"}
    call["function"] = {"name": "wait", "arguments": "{}"}
    server.then(_with_calls(call), _with_calls(call))
    first = _request(None)
    said = ModelMessage(role="assistant", content="")
    second = first.model_copy(update={"messages": (*first.messages, said)})
    [one], [two] = (model.complete(each).tool_calls for each in (first, second))
    assert one.id != two.id
