"""Scripted models behind Bedrock's API: each call goes over HTTP, in the form of Converse."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context
from typing import Any

from skein.adapters.aws.clients import Aws
from skein.adapters.converse.model import ConverseModel
from skein.models.runs.completion import ModelAnswer, ModelRequest
from skein.ports import LanguageModel
from skein.settings import Settings
from tests.faults.deployment import models_through
from tests.support.scripted_converse import ScriptedConverse
from tests.support.scripted_openai import Answer, Call

REASONS = {"cut_off": "length", "filtered": "content_filter", "empty": "malformed_model_output"}


class Bridge(ScriptedConverse):
    """A stand-in for Bedrock whose answers are those of a scripted model.

    Attributes:
        scripted: Returns the answer to the call that is in flight.
        failure: What the scripted model raised.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scripted: Callable[[], ModelAnswer]
        self.failure: Exception | None = None

    def _next(self, call: Call) -> Answer:
        try:
            answer = self.scripted()
        except Exception as error:  # raised again where the model was called
            self.failure = error
            return Answer("the scripted model failed", status=400)
        return Answer(
            answer.text,
            tool_calls=[(each.name, each.arguments) for each in answer.tool_calls],
            finish_reason=REASONS.get(answer.fault or ""),
            usage=(answer.usage.input_tokens, answer.usage.output_tokens),
        )


class OverConverse:
    """`LanguageModel` that asks a scripted model over HTTP."""

    def __init__(self, scripted: LanguageModel, bridge: Bridge, adapter: LanguageModel) -> None:
        self._scripted = scripted
        self._bridge = bridge
        self._adapter = adapter

    def complete(self, request: ModelRequest) -> ModelAnswer:
        return self._asked(request, lambda: self._adapter.complete(request))

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        between: Callable[[str], object] = getattr(self._scripted, "between", lambda _: None)

        def told(text: str) -> None:
            heard(text)
            Context().run(between, text)

        return self._asked(request, lambda: self._adapter.stream(request, told))

    def _asked(self, request: ModelRequest, ask: Callable[[], ModelAnswer]) -> ModelAnswer:
        self._bridge.scripted = lambda: self._scripted.complete(request)
        self._bridge.failure = None
        try:
            return ask()
        except Exception:
            if self._bridge.failure is not None:
                raise self._bridge.failure from None
            raise


@contextmanager
def over_converse() -> Iterator[Mapping[str, Any]]:
    """Let deployments in the block call their models through the Converse adapter."""
    with Bridge() as bridge, bridge.at_endpoint():
        adapter = ConverseModel(Aws(Settings()))
        with models_through(lambda scripted: OverConverse(scripted, bridge, adapter)):
            yield {"bridge": bridge}
