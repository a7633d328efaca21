"""What an agent is asked when it decides what to remember, and what of its answer counts."""

from collections.abc import Sequence
from typing import Any

from skein.models.agent import Agent
from skein.models.chat import Chat
from skein.models.completion import ModelMessage, well_formed
from skein.models.memory import Memory, MemoryKind
from skein.prompts import render
from skein.services.common.model_json import json_object_in
from skein.services.common.quoting import quoted
from skein.services.memory.store import Entry

MOST_ENTRIES = 40
MAX_MEMORY = 10_000  # characters
NOTHING_YET = "Nothing yet."

_ENTRY: dict[str, object] = {"type": "string"}
_REFINED: dict[str, object] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "replaces": {"type": "integer"}},
    "required": ["text", "replaces"],
    "additionalProperties": False,
}
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "journal": {"type": "array", "items": _ENTRY},
        "core": {"type": "array", "items": {"anyOf": [_ENTRY, _REFINED]}},
    },
    "required": ["journal", "core"],
    "additionalProperties": False,
}


def question(
    agent: Agent, chat: Chat, core: Sequence[Memory], transcript: str
) -> tuple[ModelMessage, ...]:
    """What an agent is asked about one chunk of a chat.

    Args:
        agent: Who is to remember.
        chat: Where it was said.
        core: What the agent remembers for good, as far as those who were there may know it.
        transcript: What was said, one line a message.
    """
    memories = "\n".join(f"{n}. {quoted(memory.text)}" for n, memory in enumerate(core, 1))
    system = render(
        "consolidation",
        {
            "identity": agent.identity,
            "memories": memories or NOTHING_YET,
        },
    )
    asked = render(
        "consolidation_input",
        {"title": quoted(chat.display_title), "messages": transcript},
    )
    return ModelMessage(role="system", content=system), ModelMessage(role="user", content=asked)


def entries_in(answer: str, core: Sequence[Memory]) -> list[Entry] | None:
    """What an answer wants remembered, without blanks, the longest cut.

    Args:
        answer: What the model said: JSON, perhaps fenced or with words around it.
        core: The memories whose numbers it may name.

    Returns:
        The entries, possibly none; None when the answer cannot be read.
    """
    found = json_object_in(answer, {"journal", "core"})
    if found is None:
        return None
    entries: list[Entry] = []
    kinds: tuple[MemoryKind, ...] = ("journal", "core")
    for kind in kinds:
        given = found.get(kind) or []
        if not isinstance(given, list):
            return None
        for value in given:
            text, number = _parts(value)
            if text is None:
                return None
            text = well_formed(text.replace("\0", "")).strip()[:MAX_MEMORY].strip()
            if any(character.isalnum() for character in text):
                # What fades does not take the place of what is for good.
                replaced = _numbered(core, number) if kind == "core" else None
                entries.append(Entry(kind, text, replaced))
    return entries


def _parts(value: Any) -> tuple[str | None, object]:
    """An entry's text and the number that it names; no text where it is something else."""
    if isinstance(value, dict):
        text = value.get("text")
        return (text if isinstance(text, str) else None), value.get("replaces")
    if value is None or isinstance(value, int | float):
        value = "" if value is None else str(value)
    return (value if isinstance(value, str) else None), None


def _numbered(core: Sequence[Memory], number: object) -> str | None:
    """The id of a memory by the number under which it was shown; None if there is none."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(core):
        return None
    return core[number - 1].id
