"""Many threads may ask one OpenAI adapter at once, from its first question on."""

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from skein.adapters.openai.model import OpenAIModel
from skein.errors import Unavailable
from skein.models.runs.completion import ModelMessage, ModelRequest
from tests.support.scripted_openai import Answer, ScriptedOpenAI

THREADS = 8
REQUEST = ModelRequest(
    model="m",
    messages=(ModelMessage(role="user", content="Hi"),),
    max_output_tokens=16,
    timeout_seconds=60,  # each answer collects the garbage of all tests
)


def _at_once(work: Callable[[], str]) -> list[str]:
    """What `work` returns in each of eight threads that begin together."""
    start = threading.Barrier(THREADS)

    def begin(_: int) -> str:
        start.wait(10)
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def test_openai_model_first_calls_at_once_share_one_client() -> None:
    meeting = threading.Barrier(2)
    keys: list[str] = []

    def api_key() -> str:
        """Give a second thread, if one can get here too, the time to do so."""
        keys.append("key")
        with suppress(threading.BrokenBarrierError):  # no other thread makes a client
            meeting.wait(0.3)
        return "key"

    def answer(_: Any) -> str:
        gc.collect()  # a client that lost the race would be closed here, while its call waits
        return "Hello"

    with ScriptedOpenAI(default=answer) as server:
        model = OpenAIModel(api_key=api_key, base_url=server.base_url)
        answers = _at_once(lambda: model.complete(REQUEST).text)
        model.close()
    assert answers == ["Hello"] * THREADS
    assert len(keys) == 1


def test_openai_model_refused_key_leaves_calls_in_flight_alone() -> None:
    arrived, refused = threading.Event(), threading.Event()

    def slow(_: Any) -> str:
        arrived.set()
        refused.wait(10)
        return "Hello"

    with ScriptedOpenAI(slow, Answer("Incorrect API key", status=401)) as server:
        model = OpenAIModel(api_key=lambda: "key", base_url=server.base_url)
        with ThreadPoolExecutor(1) as pool:
            in_flight = pool.submit(lambda: model.complete(REQUEST).text)
            assert arrived.wait(10)
            assert model._connection is not None
            connection = model._connection.client._client
            with pytest.raises(Unavailable):
                model.complete(REQUEST)
            assert not connection.is_closed
            refused.set()
            assert in_flight.result(10) == "Hello"
        assert connection.is_closed
        assert server.unscripted == []


def test_openai_model_late_refusal_of_an_old_key_keeps_the_new_client() -> None:
    keys = iter(["old-key", "new-key", "one-too-many"])
    arrived, renewed = threading.Event(), threading.Event()

    def late_refusal(_: Any) -> Answer:
        arrived.set()
        renewed.wait(10)
        return Answer("Incorrect API key", status=401)

    early_refusal = Answer("Incorrect API key", status=401)
    with ScriptedOpenAI(late_refusal, early_refusal, "Hello", "Hello again") as server:
        model = OpenAIModel(api_key=lambda: next(keys), base_url=server.base_url)
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(model.complete, REQUEST)
            assert arrived.wait(10)
            with pytest.raises(Unavailable):
                model.complete(REQUEST)
            assert model.complete(REQUEST).text == "Hello"
            renewed.set()
            with pytest.raises(Unavailable):
                late.result(10)
        assert model.complete(REQUEST).text == "Hello again"
        model.close()
    assert server.calls[-1].headers["authorization"] == "Bearer new-key"
