"""The model's key may be changed while containers live."""

import pytest

from skein.adapters.openai.model import OpenAIModel
from skein.errors import Unavailable
from skein.models.runs.completion import ModelMessage, ModelRequest
from tests.support.scripted_openai import ScriptedOpenAI

REQUEST = ModelRequest(
    model="m",
    messages=(ModelMessage(role="user", content="Hi"),),
    max_output_tokens=16,
    timeout_seconds=10,
)


def test_call_after_a_refused_key_uses_the_current_key() -> None:
    keys = iter(["old-key", "new-key"])
    with ScriptedOpenAI() as server:
        server.fail(401, "Incorrect API key").say("Hello")
        model = OpenAIModel(api_key=lambda: next(keys), base_url=server.base_url)
        with pytest.raises(Unavailable):
            model.complete(REQUEST)
        assert model.complete(REQUEST).text == "Hello"
        model.close()
    assert [call.headers["authorization"] for call in server.calls] == [
        "Bearer old-key",
        "Bearer new-key",
    ]
