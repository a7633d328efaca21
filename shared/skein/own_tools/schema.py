"""JSON schemas of tools' arguments: the part that all providers accept, and the check of values.

Schemas are checked after their reduction (`skein.models.runs.reduced_schema`). The check of a
model's arguments supports the keywords that remain after the reduction.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skein.models.runs.reduced_schema import (
    BOUNDS,
    COMMON,
    LENGTHS,
    MAX_DEPTH,
    MAX_PARAMETERS,
    MAX_WORDS,
    OF_TYPE,
)

MAX_ENUM = 100
PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
# These keywords limit the length of lists and strings, and the value of numbers.
SMALLEST = ("minItems", "minLength", "minimum")
LARGEST = ("maxItems", "maxLength", "maximum")


def fault_of_schema(schema: Mapping[str, Any]) -> str | None:
    """Return why a tool's schema is invalid, with the field's path, or None if it is valid."""
    if schema.get("type") != "object":
        return "parameters.type: it must be object"
    counted = [0]
    return next(_faults(schema, "parameters", 1, counted), None)


def _faults(schema: Any, path: str, depth: int, counted: list[int]) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        yield f"{path}: it must be a schema"
        return
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in OF_TYPE:
        yield f"{path}.type: it must be one of {', '.join(OF_TYPE)}"
        return
    if depth > MAX_DEPTH:
        yield f"{path}: at most {MAX_DEPTH} levels"
        return
    for word in schema:
        if word not in COMMON | OF_TYPE[kind]:
            yield f"{path}.{word}: this word is not supported for the type {kind}"
    yield from _faults_of_values(schema, path, kind)
    if kind == "array":
        if "items" not in schema:
            yield f"{path}.items: it is required"
        else:
            yield from _faults(schema["items"], f"{path}.items", depth + 1, counted)
    if kind == "object":
        yield from _faults_of_object(schema, path, depth, counted)


def _faults_of_values(schema: Mapping[str, Any], path: str, kind: str) -> Iterator[str]:
    """Yield what is wrong with the description, the enum and the bounds of a schema."""
    words = schema.get("description", "")
    if not isinstance(words, str) or len(words) > MAX_WORDS:
        yield f"{path}.description: it must be a text of at most {MAX_WORDS:,} characters"
    enum = schema.get("enum")
    if enum is not None:
        if not isinstance(enum, Sequence) or isinstance(enum, str) or not 0 < len(enum) <= MAX_ENUM:
            yield f"{path}.enum: it must be a list of 1 to {MAX_ENUM} values"
        elif kind in {"object", "array"} or any(not _is(kind, value) for value in enum):
            yield f"{path}.enum: its values must have the type {kind}"
    for word in BOUNDS:
        bound = schema.get(word, 0)
        if isinstance(bound, bool) or not isinstance(bound, int | float):
            yield f"{path}.{word}: it must be a number"
            return
        if word in LENGTHS and not (isinstance(bound, int) and bound >= 0):
            yield f"{path}.{word}: it must be a whole number, at least 0"
    for least, most in zip(SMALLEST, LARGEST, strict=True):
        if least in schema and most in schema and schema[least] > schema[most]:
            yield f"{path}.{least}: it must not be larger than {most}"


def _faults_of_object(
    schema: Mapping[str, Any], path: str, depth: int, counted: list[int]
) -> Iterator[str]:
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        yield f"{path}.properties: it must be an object"
        return
    required = schema.get("required", ())
    if not isinstance(required, Sequence) or isinstance(required, str):
        yield f"{path}.required: it must be a list of names"
    else:
        unknown = next((name for name in required if name not in list(properties)), None)
        if unknown is not None:
            yield f"{path}.required: there is no parameter {str(unknown)[:64]!r}"
    if schema.get("additionalProperties", False) is not False:
        yield f"{path}.additionalProperties: it must be false"
    counted[0] += len(properties)
    if counted[0] > MAX_PARAMETERS:
        yield f"{path}.properties: at most {MAX_PARAMETERS} parameters in all"
        return
    for name, part in properties.items():
        if PARAMETER_NAME.fullmatch(name) is None:
            yield f"{path}.properties: {name[:64]!r} is no name of letters, digits, _ and -"
        else:
            yield from _faults(part, f"{path}.properties.{name}", depth + 1, counted)


def fault_of_value(schema: Mapping[str, Any], value: Any, path: str = "arguments") -> str | None:
    """Return why a value does not fit a schema, with the argument's path, or None if it fits.

    The text does not quote values.
    """
    return next(_misfits(schema, value, path), None)


def _misfits(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    kind = schema["type"]
    if not _is(kind, value):
        yield f"{path}: Input should be of the type {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: Input should be one of the values of its enum"
    yield from _beyond_bounds(schema, value, path)
    if kind == "array":
        for number, item in enumerate(value):
            yield from _misfits(schema["items"], item, f"{path}.{number}")
    if kind == "object":
        yield from _misfits_of_object(schema, value, path)


def _beyond_bounds(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if isinstance(value, bool):
        return
    size = value if isinstance(value, int | float) else len(value)
    for word in SMALLEST:
        if size < schema.get(word, size):
            yield f"{path}: {word} is {schema[word]}"
    for word in LARGEST:
        if size > schema.get(word, size):
            yield f"{path}: {word} is {schema[word]}"


def _misfits_of_object(
    schema: Mapping[str, Any], value: Mapping[str, Any], path: str
) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{_at(path, name)}: Field required"
    for name, part in value.items():
        if name not in properties:
            yield f"{path}: it has an argument that the tool does not know"
        else:
            yield from _misfits(properties[name], part, _at(path, name))


def _at(path: str, name: str) -> str:
    return name if path == "arguments" else f"{path}.{name}"


def _is(kind: str, value: Any) -> bool:
    match kind:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str) and "\0" not in value
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and isinstance(value, int | float) and value % 1 == 0
        case _:
            return not isinstance(value, bool) and isinstance(value, int | float)


def closed_values(schema: Mapping[str, Any]) -> dict[str, int]:
    """Return the closed parameters, each with the number of choices for it.

    A closed parameter can only have one of the values that its schema lists. If it is optional,
    leaving it out is an additional choice.
    """
    required = schema.get("required", ())
    return {
        name: len(part.get("enum", (True, False))) + (name not in required)
        for name, part in schema.get("properties", {}).items()
        if part.get("type") == "boolean" or "enum" in part
    }


def as_listed(schema: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return valid arguments with enum values as written in the schema, such as 1 for 1.0."""
    enums = {name: part.get("enum", ()) for name, part in schema.get("properties", {}).items()}
    return {
        name: next((each for each in enums[name] if each == given), given)
        for name, given in value.items()
    }
