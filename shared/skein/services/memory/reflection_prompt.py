"""What an agent is asked about what it is about to forget, and what of its answer counts."""

from collections.abc import Sequence

from skein.models.agent import Agent
from skein.models.completion import ModelMessage
from skein.models.memory import Memory
from skein.prompts import render
from skein.services.common.model_json import json_object_in
from skein.services.common.quoting import quoted

NOTHING_YET = "Nothing yet."
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"promote": {"type": "array", "items": {"type": "integer"}}},
    "required": ["promote"],
    "additionalProperties": False,
}


def question(
    agent: Agent, core: Sequence[Memory], fading: Sequence[Memory]
) -> tuple[ModelMessage, ...]:
    """What an agent is asked about the journal entries in `fading`, which it knows by number."""
    system = render(
        "reflection",
        {
            "identity": agent.identity,
            "memories": "\n".join(f"- {quoted(one.text)}" for one in core) or NOTHING_YET,
        },
    )
    entries = "\n".join(
        f"{n}. [{one.created_at:%Y-%m-%d}] {quoted(one.text)}" for n, one in enumerate(fading, 1)
    )
    asked = render("reflection_input", {"entries": entries})
    return ModelMessage(role="system", content=system), ModelMessage(role="user", content=asked)


def promoted_in(answer: str, fading: Sequence[Memory]) -> list[Memory] | None:
    """The entries that an answer names, in their order, each once; numbers of nothing are left out.

    Returns:
        The entries, possibly none; None when the answer cannot be read.
    """
    found = json_object_in(answer, {"promote"})
    numbers = found.get("promote") if found is not None else None
    if not isinstance(numbers, list):
        return None
    named = {number for number in numbers if type(number) is int}  # a truth value is no number
    return [one for n, one in enumerate(fading, 1) if n in named]
