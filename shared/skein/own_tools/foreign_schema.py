"""Reduce the JSON Schema of an MCP server's tool to the words that all providers accept."""

from collections.abc import Mapping, Sequence
from typing import Any

from skein.own_tools.schema import BOUNDS, COMMON, MAX_DEPTH, MAX_WORDS, OF_TYPE

DEFINITIONS = "#/$defs/"
CHOICES = ("anyOf", "oneOf", "allOf")


def reduced(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without the words that Skein does not know.

    What cannot be said without them stays as it is, and `fault_of_schema` names it.
    """
    definitions = schema.get("$defs", {})
    return _reduced(schema, definitions if isinstance(definitions, Mapping) else {}, 1)


def _reduced(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        return {}
    part = _resolved(schema, definitions)
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in OF_TYPE or depth > MAX_DEPTH:
        return dict(part)
    known = {word: part[word] for word in part if word in COMMON | OF_TYPE[kind]}
    if isinstance(known.get("description"), str):
        known["description"] = known["description"][:MAX_WORDS]
    if isinstance(known.get("enum"), Sequence):
        known["enum"] = [each for each in known["enum"] if each is not None]
    known = {word: each for word, each in known.items() if word not in BOUNDS or each is not None}
    if kind == "array":
        known["items"] = _reduced(part.get("items", {}), definitions, depth + 1)
    if kind == "object":
        known.pop("additionalProperties", None)
        properties = part.get("properties", {})
        if isinstance(properties, Mapping):
            known["properties"] = {
                name: _reduced(each, definitions, depth + 1) for name, each in properties.items()
            }
    return known


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that says its type itself, without a reference, `null` or `const`."""
    part = dict(schema)
    for _ in range(MAX_DEPTH):
        reference = part.pop("$ref", None)
        found = [word for word in CHOICES if isinstance(part.get(word), list)]
        if isinstance(reference, str) and reference.startswith(DEFINITIONS):
            named = definitions.get(reference.removeprefix(DEFINITIONS), {})
            part = {**named, **part} if isinstance(named, Mapping) else part
        elif found:
            wanted = [each for each in part.pop(found[0]) if not _is_null(each)]
            if len(wanted) != 1 or not isinstance(wanted[0], Mapping):
                return dict(schema)
            part = {**wanted[0], **part}
        else:
            break
    kind = part.get("type")
    if isinstance(kind, list):
        kinds = [each for each in kind if each != "null"]
        part["type"] = kinds[0] if len(kinds) == 1 else kind
    if "const" in part:
        part["enum"] = [part.pop("const")]
    if "type" not in part:
        part |= _guessed(part)
    return part


def _guessed(part: Mapping[str, Any]) -> dict[str, str]:
    """Return the type that a schema leaves out, if its other words tell it."""
    if "properties" in part:
        return {"type": "object"}
    values = part.get("enum")
    if isinstance(values, list) and values and all(isinstance(each, str) for each in values):
        return {"type": "string"}
    return {}


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"
