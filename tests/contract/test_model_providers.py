"""Providers of models: the recipes of docs/how-to.md, each with a stand-in for its provider."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from skein.adapters.openai.bedrock_tokens import bedrock_region
from skein.adapters.openai.model import OpenAIModel
from skein.bootstrap.ports import Ports
from skein.errors import KeyRefused, MissingSecret
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
def test_role_signs_a_short_lived_token_for_the_region_without_any_secret() -> None:
    ports = Ports(Settings(openai_base_url=BEDROCK), secrets=MemorySecrets({}))
    token = ports.openai._api_key()
    assert token.startswith("bedrock-api-key-")
    signed = base64.b64decode(token.removeprefix("bedrock-api-key-")).decode()
    parts = urlsplit(f"https://{signed}")
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert (parts.hostname, parts.path) == ("bedrock.amazonaws.com", "/")
    assert (query["Action"], query["Version"]) == ("CallWithBearerToken", "1")
    assert query["X-Amz-Credential"].endswith("/eu-west-1/bedrock/aws4_request")
    assert (query["X-Amz-Expires"], query["X-Amz-Security-Token"]) == ("900", "session")
    assert "secret" not in signed


@pytest.mark.usefixtures("_role")
def test_key_in_the_secret_goes_before_the_role() -> None:
    settings = Settings(openai_secret="models", openai_base_url=BEDROCK)
    ports = Ports(settings, secrets=MemorySecrets({"models": {"api_key": KEY}}))
    assert ports.openai._api_key() == KEY


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


def test_each_call_has_a_key_of_its_own_if_keys_expire() -> None:
    keys = iter(["checked", "first", "second"])
    with running(PROVIDERS[0]) as provider:
        model = OpenAIModel(api_key=lambda: next(keys), base_url=provider.url, key_expires=True)
        request = asked(provider).model_copy(update={"model": provider.model})
        for _ in range(2):
            model.complete(request)
        model.close()
    assert provider.keys == ["first", "second"]


def test_function_without_a_role_or_a_key_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = Ports(Settings(openai_base_url=BEDROCK), secrets=MemorySecrets({}))
    monkeypatch.setattr(ports.aws, "credentials", lambda: None)
    with pytest.raises(MissingSecret):
        ports.openai._api_key()
