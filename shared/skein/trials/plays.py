"""What the steps of a play show: its tool calls, and the tokens that it used."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skein.models.runs.completion import TokenUsage
from skein.models.runs.step import Step
from skein.trials.models.expectation import Played, PlayedCall


@dataclass(frozen=True, slots=True)
class Play:
    """One play of a case.

    Attributes:
        answers: For each answer, the model and the tokens.
        effects: What the play would have done outside the world, such as calls of tools.
    """

    played: Played
    answers: tuple[tuple[str, TokenUsage], ...]
    effects: tuple[str, ...] = ()

    @classmethod
    def of(cls, played: Played, steps: Sequence[Step], effects: Sequence[str] = ()) -> "Play":
        """Return a play with the calls of its steps, and the tokens of its answers."""
        tokens = sum(each.usage.tokens for each in steps)
        whole = replace(played, calls=calls_of(steps), tokens=tokens, steps=len(steps))
        return cls(whole, tuple((each.model, each.usage) for each in steps), tuple(effects))


def arguments_of(text: str) -> Any:
    """Return the arguments of a call, parsed from JSON; the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def calls_of(steps: Sequence[Step]) -> tuple[PlayedCall, ...]:
    """Return the calls of a play in order, with their results."""
    return tuple(
        PlayedCall(call.name, arguments_of(call.arguments), results.get(call.id))
        for step in steps
        for results in [{each.call_id: each.content for each in step.results or ()}]
        for call in step.tool_calls
    )
