"""Providers of models: the recipes of docs/how-to.md, each with a stand-in for its provider."""

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx2
import pytest

from skein.adapters.openai.bedrock import bedrock_region
from skein.bootstrap.ports import Ports
from skein.errors import KeyRefused
from skein.models.runs.completion import ModelMessage, ModelRequest, ToolSpec
from skein.ports import LanguageModel
from skein.services.common.model_json import json_object_in
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets
from tests.support.provider_stand_in import KEY, PROVIDERS, WORDS, StandIn, running

SCHEMA: dict[str, object] = {"type": "object", "properties": {"summary": {"type": "string"}}}
TOOL = ToolSpec(
    name="look_up",
    description="Look something up.",
    parameters={"type": "object", "properties": {"days": {"type": "integer"}}},
)
REQUEST = ModelRequest(
    model="openai.gpt-oss-20b-1:0",
    messages=(ModelMessage(role="user", content="Hi"),),
    max_output_tokens=16,
    timeout_seconds=10,
)
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}
    ],
}
BEDROCK = "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1"


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Iterator[StandIn]:
    with running(request.param) as started:
        yield started


@pytest.fixture
def model(provider: StandIn) -> LanguageModel:
    """The models of a deployment whose default provider is another one."""
    settings = Settings(
        openai_secret="models",
        openai_base_url="http://127.0.0.1:9/v1",
        model_providers={provider.name: provider.url},
    )
    secrets = MemorySecrets({"models": {"api_key": "of the default", provider.name: KEY}})
    return Ports(settings, secrets=secrets).model


def asked(provider: StandIn, **more: Any) -> ModelRequest:
    return ModelRequest(
        model=f"{provider.name}/{provider.model}",
        messages=(ModelMessage(role="user", content="What does she do?"),),
        max_output_tokens=100,
        timeout_seconds=10,
        **more,
    )


def test_agent_with_a_provider_is_answered_by_it_with_its_own_key(
    provider: StandIn, model: LanguageModel
) -> None:
    answer = model.complete(asked(provider))
    assert (answer.text, answer.usage.output_tokens) == ("".join(WORDS), 5)
    assert (provider.calls[0]["model"], provider.keys) == (provider.model, [KEY])


def test_answer_by_a_schema_is_read_also_from_free_text(
    provider: StandIn, model: LanguageModel
) -> None:
    answer = model.complete(asked(provider, answer_schema=SCHEMA))
    assert answer.text is not None
    assert json_object_in(answer.text, {"summary"}) == {"summary": "She swims."}


def test_call_of_a_tool_comes_with_its_arguments_also_if_they_break_the_schema(
    provider: StandIn, model: LanguageModel
) -> None:
    [call] = model.complete(asked(provider, tools=(TOOL,))).tool_calls
    assert call.name == "look_up"
    assert '"days"' in call.arguments


def test_streamed_answer_has_its_words_and_a_count_of_tokens(
    provider: StandIn, model: LanguageModel
) -> None:
    heard: list[str] = []
    answer = model.stream(asked(provider), heard.append)
    assert answer.text == "".join(WORDS)
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0
    assert not heard or heard[-1] == "".join(WORDS)


def test_name_without_a_provider_is_a_model_of_the_default_one() -> None:
    with running(PROVIDERS[-1]) as provider:
        settings = Settings(
            openai_secret="models",
            openai_base_url=provider.url,
            model_providers={"other": "http://127.0.0.1:9/v1"},
        )
        secrets = MemorySecrets({"models": {"api_key": KEY}})
        model = Ports(settings, secrets=secrets).model
        provider.model = "meta/llama"
        request = asked(provider).model_copy(update={"model": "meta/llama"})
        assert model.complete(request).text == "".join(WORDS)
        with pytest.raises(KeyRefused):  # no key for this provider
            model.complete(request.model_copy(update={"model": "other/llama"}))


# ---------------------------------------------------------------------- Bedrock by role


@pytest.fixture
def _role(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "session"),
    ):
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_role")
@pytest.mark.parametrize(
    ("url", "scope"),
    [
        (BEDROCK, "eu-west-1/bedrock/aws4_request"),
        ("https://bedrock-mantle.us-east-2.api.aws/v1", "us-east-2/bedrock-mantle/aws4_request"),
    ],
)
def test_role_signs_each_request_for_the_region_without_any_secret(
    monkeypatch: pytest.MonkeyPatch, url: str, scope: str
) -> None:
    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(503 if len(sent) == 1 else 200, json=ANSWER)

    transport = httpx2.MockTransport(answer)
    monkeypatch.setattr("openai.DefaultHttpxClient", partial(httpx2.Client, transport=transport))
    ports = Ports(Settings(openai_base_url=url), secrets=MemorySecrets({}))
    assert ports.openai.complete(REQUEST).text == "Hello"
    for request in sent:
        signature = request.headers["authorization"]
        assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        assert f"/{scope}, SignedHeaders=" in signature
        assert "x-amz-security-token" in signature
        assert request.headers["x-amz-security-token"] == "session"
        digest = hashlib.sha256(request.content).hexdigest()
        assert request.headers["x-amz-content-sha256"] == digest
    assert [str(request.url) for request in sent] == [f"{url}/chat/completions"] * 2


@pytest.mark.usefixtures("_role")
def test_key_in_the_secret_goes_before_the_role() -> None:
    settings = Settings(openai_secret="models", openai_base_url=BEDROCK)
    ports = Ports(settings, secrets=MemorySecrets({"models": {"api_key": KEY}}))
    with ports.openai._connected() as connection:
        assert connection.client.api_key == KEY


@pytest.mark.parametrize(
    ("url", "region"),
    [
        (BEDROCK, "eu-west-1"),
        ("https://bedrock-mantle.us-east-2.api.aws/openai/v1", "us-east-2"),
        ("http://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1", None),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com.evil.example/v1", None),
        ("https://api.example/v1", None),
        (None, None),
    ],
)
def test_tokens_of_the_role_go_to_bedrock_alone(url: str | None, region: str | None) -> None:
    assert bedrock_region(url) == region


def test_provider_call_without_credentials_raises_key_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ports = Ports(Settings(openai_base_url=BEDROCK), secrets=MemorySecrets({}))
    monkeypatch.setattr(ports.aws, "credentials", lambda: None)
    with pytest.raises(KeyRefused, match="no credentials"):
        ports.openai.complete(REQUEST)
