"""`/v1/embeddings` of the local model server, by the product's own client."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from local.model.server import make_server
from skein.adapters.openai.embeddings import OpenAIEmbeddings
from skein.adapters.openai.model import OpenAIModel
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.errors import ModelUnknown

NAME = StaticEmbeddings.name


@pytest.fixture
def url() -> Iterator[str]:
    server = make_server(lambda request: {})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def client(url: str) -> Iterator[OpenAIModel]:
    made = OpenAIModel(api_key=lambda: "key", base_url=url)
    yield made
    made.close()


def asked(url: str, body: object) -> tuple[int, dict[str, Any]]:
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/embeddings", data)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_provider_embeddings_are_those_inside_the_functions(client: OpenAIModel) -> None:
    texts = ["Our cat sleeps all day.", "The bicycle needs a new chain."]
    found = OpenAIEmbeddings(client, NAME).embed(texts)
    for one, other in zip(found, StaticEmbeddings().embed(texts), strict=True):
        assert one.vector == pytest.approx(other.vector, abs=1e-6)


def test_other_model_of_embeddings_is_unknown(client: OpenAIModel) -> None:
    with pytest.raises(ModelUnknown):
        OpenAIEmbeddings(client, "text-embedding-3-small").embed(["cat"])


def test_answer_has_the_shape_of_the_openai_api(url: str) -> None:
    status, body = asked(url, {"model": NAME, "input": "cat", "dimensions": 256})
    assert status == 200
    [one] = body.pop("data")
    assert len(one.pop("embedding")) == 256
    assert one == {"object": "embedding", "index": 0}
    assert body == {
        "object": "list",
        "model": NAME,
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
    }


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"model": NAME},
        {"model": NAME, "input": []},
        {"model": NAME, "input": [1, 2]},
        {"model": NAME, "input": "cat", "dimensions": 512},
    ],
)
def test_request_of_another_form_is_refused(url: str, body: object) -> None:
    assert asked(url, body)[0] == 400
