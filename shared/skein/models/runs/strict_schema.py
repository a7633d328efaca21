"""JSON schemas of tools that a provider can enforce (`strict`).

OpenAI refuses a request with a strict schema that breaks one of its rules, so the rules are checked
here for the whole schema: https://platform.openai.com/docs/guides/structured-outputs.
"""

from collections.abc import Iterator, Mapping
from typing import Any

# Lengths of strings are not among the supported keywords: `Tool.parse` and own tools check them.
WORDS = frozenset(
    {
        *("type", "description", "enum", "anyOf", "items", "minItems", "maxItems"),
        *("properties", "required", "additionalProperties", "minimum", "maximum"),
    }
)
MAX_LEVELS = 10
MAX_ENUM_VALUES = 1_000
MAX_CHARACTERS = 100_000  # of names and values of enums; OpenAI's limit is 120,000


def closed_if_strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Forbid unknown properties in each object of a schema, if strict mode accepts the result."""
    closed: dict[str, Any] = _closed(schema)
    return closed if is_strict(closed) else schema


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Return whether strict mode accepts a schema of a tool's arguments.

    In such a schema, each object forbids unknown properties, has at least one property, and
    requires all of its properties.
    """
    parts = list(_parts(schema, 1))
    names = [name for part, _ in parts for name in part.get("properties", ())]
    values = [value for part, _ in parts for value in part.get("enum", ())]
    return (
        schema.get("type") == "object"
        and all(level <= MAX_LEVELS and _fits(part) for part, level in parts)
        and len(values) <= MAX_ENUM_VALUES
        and sum(len(str(text)) for text in (*names, *values)) <= MAX_CHARACTERS
    )


def _fits(part: Mapping[str, Any]) -> bool:
    if not part.keys() <= WORDS or not part.keys() & {"type", "anyOf"}:
        return False
    if part.get("type") != "object":
        return True
    names = set(part.get("properties", ()))
    closed = part.get("additionalProperties") is False
    return closed and bool(names) and names == set(part.get("required", ()))


def _parts(part: Mapping[str, Any], level: int) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield a schema and all schemas inside it, each with its level from 1."""
    yield part, level
    for inner in part.get("properties", {}).values():
        yield from _parts(inner, level + 1)
    for kind in part.get("anyOf", ()):
        yield from _parts(kind, level)
    if "items" in part:
        yield from _parts(part["items"], level + 1)


def _closed(part: Mapping[str, Any]) -> dict[str, Any]:
    closed = dict(part)
    if "properties" in closed:
        properties = closed["properties"].items()
        closed["properties"] = {name: _closed(inner) for name, inner in properties}
    if "items" in closed:
        closed["items"] = _closed(closed["items"])
    if "anyOf" in closed:
        closed["anyOf"] = [_closed(kind) for kind in closed["anyOf"]]
    if closed.get("type") == "object":
        closed["additionalProperties"] = False
    return closed
