"""Use a guardrail to check texts that are new to a model, and all that the model writes."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from skein.errors import GuardrailBlocked
from skein.models.config.guardrail import Guardrail
from skein.models.runs.completion import ModelAnswer, ModelRequest, ToolCall
from skein.ports import Guardrails, LanguageModel
from skein.tracing import span


@dataclass(frozen=True, slots=True)
class Guarding:
    """The checks of one guardrail."""

    guardrails: Guardrails
    guardrail: Guardrail

    def complete(
        self, model: LanguageModel, request: ModelRequest, new: Iterable[str]
    ) -> ModelAnswer:
        """Check the new texts of a request, ask the model, and check its answer.

        Args:
            new: The texts of the request that the model has not been shown before.

        Raises:
            GuardrailBlocked: The guardrail intervenes.
            Transient: The model or the guardrail is out of reach.
        """
        self.check_input(new)
        answer = model.complete(request)
        self.check_answer(answer)
        return answer

    def check_input(self, texts: Iterable[str]) -> None:
        """Check texts that a model has not been shown before.

        Raises:
            GuardrailBlocked: The guardrail intervenes.
            Transient: The guardrail is out of reach.
        """
        self._check(texts, output=False)

    def check_answer(self, answer: ModelAnswer) -> None:
        """Check the text of an answer, and each text in the arguments of its tool calls.

        Raises:
            GuardrailBlocked: The guardrail intervenes.
            Transient: The guardrail is out of reach.
        """
        arguments = (text for call in answer.tool_calls for text in argument_texts(call))
        self._check([answer.text, *arguments], output=True)

    def _check(self, texts: Iterable[str], *, output: bool) -> None:
        checked = [text for text in texts if text.strip()]
        if not checked:
            return
        with span("guardrail"):
            blocked = self.guardrails.blocks(self.guardrail, checked, output=output)
        if blocked:
            raise GuardrailBlocked(self.guardrail.text)


def argument_texts(call: ToolCall) -> list[str]:
    """Return the texts in a call's arguments, or the unparsed arguments if they are not JSON."""
    try:
        return list(_texts_in(json.loads(call.arguments)))
    except ValueError:
        return [call.arguments]


def _texts_in(value: object) -> Iterable[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for part in value:
            yield from _texts_in(part)
    elif isinstance(value, str):
        yield value
