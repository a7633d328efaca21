"""Traces contain the words of open chats only, and only if the deployment asks for them."""

import pytest

from skein import tracing
from skein.correlation import correlated
from skein.settings import Settings
from skein.tracing import Span
from tests.support.builders import World, bot, person

WORDS = {"asked", "said"}


class Recorder:
    """A tracer that keeps spans."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def sampled(self, trace_id: str) -> bool:
        return bool(trace_id)

    def record(self, span: Span) -> None:
        self.spans.append(span)


@pytest.mark.parametrize(
    ("visibility", "content", "told"),
    [("open", True, WORDS), ("private", True, set()), ("open", False, set())],
)
def test_words_are_in_traces_of_open_chats_only(
    visibility: str, content: bool, told: set[str]
) -> None:
    recorder = Recorder()
    world = World(Settings(otlp_content=content))
    world.agent(model="converse/eu.amazon.nova-lite-v1:0")
    world.chat(person(), bot(), person("usr_ann", "Ann"), visibility=visibility)
    with correlated("request-1"):
        world.post("@Coach Hello", person())
    tracing.use(recorder)
    try:
        world.drain()
    finally:
        tracing.use(None)
    [model] = [span for span in recorder.spans if span.name == "model"]
    assert model.attributes.keys() & WORDS == told
    assert model.attributes["input_tokens"] == 10
    assert [span.name for span in recorder.spans if span.attributes.get("agent")] == ["run"]
