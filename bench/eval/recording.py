"""A language model that records its prompts and answers."""

from collections.abc import Callable
from dataclasses import dataclass

from skein.models.runs.completion import ModelAnswer, ModelRequest
from skein.ports import LanguageModel

ANSWER, AGENT_SUMMARY = "answer", "lines"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to a model, and its answer.

    Attributes:
        prompt: The messages, each with the role of its author on a line of its own.
        answer: The text and the calls of tools.
        kind: `answer` for a step of a run. For other work, the first field of the answer's schema,
            such as `lines` for an agent summary.
    """

    prompt: str
    answer: str
    kind: str = ANSWER


class RecordingModel:
    """Language model (see `skein.ports.LanguageModel`) that records what another model does.

    Args:
        model: The recorded model.
        exchanges: The list to which prompts and answers are appended.
    """

    def __init__(self, model: LanguageModel, exchanges: list[Exchange]) -> None:
        self._model = model
        self._exchanges = exchanges

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Call the recorded model; see `skein.ports.LanguageModel`."""
        return self._recorded(request, self._model.complete(request))

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """Call the recorded model as `complete` does, and report its words while it writes them."""
        return self._recorded(request, self._model.stream(request, heard))

    def _recorded(self, request: ModelRequest, answer: ModelAnswer) -> ModelAnswer:
        prompt = "\n\n".join(f"===== {each.role}\n{each.content}" for each in request.messages)
        calls = (f"{each.name}({each.arguments})" for each in answer.tool_calls)
        words = "\n".join(filter(None, (answer.text, *calls)))
        self._exchanges.append(Exchange(prompt, words, _kind_of(request)))
        return answer


def _kind_of(request: ModelRequest) -> str:
    properties = (request.answer_schema or {}).get("properties")
    return next(iter(properties), ANSWER) if isinstance(properties, dict) else ANSWER
