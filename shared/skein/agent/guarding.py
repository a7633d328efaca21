"""What an agent's guardrail checks: what is new for the model, and all that the model writes."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from skein.errors import GuardrailBlocked
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.models.config.guardrail import Guardrail
from skein.models.runs.completion import ModelAnswer, ToolCall
from skein.models.runs.step import PromptRecord, Step
from skein.ports import Guardrails
from skein.tracing import span

TRIGGER = "TRIGGER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarding:
    """Service that asks the guardrail of an agent."""

    guardrails: Callable[[], Guardrails]

    def check_input(
        self, guardrail: Guardrail, reading: Reading, prompt: PromptRecord, earlier: Sequence[Step]
    ) -> None:
        """Check what the model has not been shown before.

        Raises:
            GuardrailBlocked: The guardrail intervenes.
            Transient: The guardrail cannot be asked.
        """
        self._check(guardrail, new_texts(reading, prompt, earlier), output=False)

    def check_answer(self, guardrail: Guardrail, answer: ModelAnswer) -> None:
        """Check the text of an answer, and each text in the arguments of its calls.

        Raises:
            GuardrailBlocked: The guardrail intervenes.
            Transient: The guardrail cannot be asked.
        """
        arguments = (text for call in answer.tool_calls for text in argument_texts(call))
        self._check(guardrail, [answer.text, *arguments], output=True)

    def _check(self, guardrail: Guardrail, texts: Iterable[str], *, output: bool) -> None:
        checked = [text for text in texts if text.strip()]
        if not checked:
            return
        with span("guardrail"):
            blocked = self.guardrails().blocks(guardrail, checked, output=output)
        if blocked:
            raise GuardrailBlocked(guardrail.text)


def new_texts(reading: Reading, prompt: PromptRecord, earlier: Sequence[Step]) -> list[str]:
    """Return the results of the last step's calls, or else what the run was started with.

    These are people's messages after the agent's own last one, and the trigger of a run that no
    message started.
    """
    if earlier:
        return [result.content for result in earlier[-1].results or ()]
    said: list[str] = []
    for message in reading.of(History).messages if reading.chat is not None else ():
        own = message.sender.kind == "agent" and message.sender.id == reading.agent.id
        said = [] if own else [*said, message.text]
    return [*said, *(part.text for part in prompt.sections if part.name == TRIGGER)]


def argument_texts(call: ToolCall) -> list[str]:
    """Return the texts in the arguments of a call; all of it if they are not JSON."""
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
