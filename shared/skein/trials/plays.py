"""What the steps of a play show: its calls, and the tokens that it used."""

import json
from collections.abc import Sequence
from typing import Any, TypedDict

from skein.models.runs.step import Step
from skein.trials.models.expectation import PlayedCall


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
