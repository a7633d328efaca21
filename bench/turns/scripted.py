"""A model that answers from a script."""

from collections.abc import Callable

from bench.turns.script import text
from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage

FIRST_ANSWER = 1_000_000  # so that no answer equals a message of the chat
NOTE = '{"lines": ["They train for a race.", "A hard week is over."], "summary": "They train."}'


class Scripted:
    """A model that answers each message at once with the next text of the script.

    Attributes:
        last: The newest request, except requests for summaries.
    """

    def __init__(self) -> None:
        self.last: ModelRequest | None = None
        self._answers = 0

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """See `skein.ports.LanguageModel`."""
        usage = TokenUsage(input_tokens=10, output_tokens=5)
        if request.answer_schema is not None:
            return ModelAnswer(model=request.model, text=NOTE, usage=usage)
        self.last = request
        self._answers += 1
        return ModelAnswer(
            model=request.model, text=text(FIRST_ANSWER + self._answers), usage=usage
        )

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """See `skein.ports.LanguageModel`; the answer comes at once."""
        answer = self.complete(request)
        heard(answer.text)
        return answer
