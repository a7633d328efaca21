"""What the steps of a play show: its calls, and the tokens that it used."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from skein.models.runs.completion import TokenUsage
from skein.models.runs.step import Step
from skein.trials.models.expectation import Played, PlayedCall


@dataclass(frozen=True, slots=True)
class Play:
    """One play of a case.

    Attributes:
        answers: The model and the tokens of each answer.
        effects: What would have happened outside.
    """

    played: Played
    answers: tuple[tuple[str, TokenUsage], ...]
    effects: tuple[str, ...] = ()

    @classmethod
    def of(cls, played: Played, steps: Sequence[Step], effects: Sequence[str] = ()) -> "Play":
        """Return a play with the answers of its steps."""
        return cls(played, tuple((each.model, each.usage) for each in steps), tuple(effects))


class UsedByPlay(TypedDict):
    """The fields of `Played` that say what a play used."""

    tokens: int
    steps: int


def arguments_of(text: str) -> Any:
    """Return the arguments of a call; the text itself if it is no JSON."""
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


def used_by(steps: Sequence[Step]) -> UsedByPlay:
    """Return the tokens and the answers of a play."""
    tokens = sum(each.usage.input_tokens + each.usage.output_tokens for each in steps)
    return UsedByPlay(tokens=tokens, steps=len(steps))
