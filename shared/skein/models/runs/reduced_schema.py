"""JSON schemas of tools' arguments, reduced to the keywords that all providers accept.

Pydantic and MCP servers write references, null, titles, defaults, formats and alternatives, which
providers refuse in different ways.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 5
MAX_PARAMETERS = 60  # properties in all objects together
MAX_WORDS = 1_000  # maximum length of one description, in characters
MAX_STEPS = 1_000  # the maximum number of references and alternatives that are followed
LENGTHS = ("minItems", "maxItems", "minLength", "maxLength")
BOUNDS = (*LENGTHS, "minimum", "maximum")
COMMON = frozenset({"type", "description", "enum"})
OF_TYPE: Mapping[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength"}),
    "integer": frozenset({"minimum", "maximum"}),
    "number": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
}
ALTERNATIVES = ("anyOf", "oneOf")
OF_FUNCTION = ("anyOf", "additionalProperties")  # a function checks its arguments itself
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
ORDER = ("type", "enum", "items", "properties", "required", *BOUNDS, *OF_FUNCTION, "description")


def reduced(schema: Mapping[str, Any], *, words: Collection[str] = BOUNDS) -> dict[str, Any]:
    """Return a schema without the keywords that some providers reject.

    References are replaced by their targets, and `null` is removed. Alternatives of one type become
    one schema, which requires only what all of them require. If alternatives have several types,
    only those of the first type are kept. The tool itself enforces removed keywords, such as
    `pattern`.

    A part without a remaining type has no type in the result, and `fault_of_schema` reports it.

    Args:
        schema: The JSON schema.
        words: More keywords to keep: `BOUNDS`, or `OF_FUNCTION` for functions. With `OF_FUNCTION`,
            alternatives of all types are kept, and objects may have any properties.
    """
    return _Reduction(schema, frozenset(words)).part(schema, 1)


@dataclass(slots=True)
class _Reduction:
    """One reduction, which terminates even for recursive schemas.

    Attributes:
        root: The whole schema, in which references are resolved.
        words: As in `reduced`.
        parameters: The number of parameters of the objects so far.
        steps: The number of references and alternatives that were followed.
    """

    root: Mapping[str, Any]
    words: frozenset[str]
    parameters: int = 0
    steps: int = 0

    def part(self, schema: Any, level: int) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        part = self._resolved(schema, 0)
        kind = part.get("type")
        if "anyOf" in part and "anyOf" in self.words and level <= MAX_DEPTH:
            known = {word: part[word] for word in part if word == "description"}
            known["anyOf"] = [self.part(each, level + 1) for each in part["anyOf"]]
        elif not isinstance(kind, str) or kind not in OF_TYPE or level > MAX_DEPTH:
            known = {word: part[word] for word in part if word in COMMON}
        else:
            known = self._known(part, kind, level)
        if isinstance(known.get("description"), str):
            known["description"] = known["description"][:MAX_WORDS]
        return {word: known[word] for word in ORDER if word in known}

    def _known(self, part: Mapping[str, Any], kind: str, level: int) -> dict[str, Any]:
        bounds = self.words.intersection(BOUNDS, OF_TYPE[kind])
        stay = bounds | COMMON
        known = {word: part[word] for word in part if word in stay and part[word] is not None}
        if isinstance(known.get("enum"), Sequence) and not isinstance(known["enum"], str):
            known["enum"] = [each for each in known["enum"] if each is not None]
        if kind == "array":
            known["items"] = self.part(part.get("items", {}), level + 1)
        if kind == "object":
            known |= self._properties(part, level)
        return known

    def _properties(self, part: Mapping[str, Any], level: int) -> dict[str, Any]:
        properties = part.get("properties", {})
        known = {"properties": properties}
        if part.get("required") is not None:
            known["required"] = part["required"]
        if not isinstance(properties, Mapping):
            return known
        rest = part.get("additionalProperties")
        if "additionalProperties" in self.words and not properties and rest:
            known["additionalProperties"] = rest is True or self.part(rest, level + 1)
        self.parameters += len(properties)
        if self.parameters <= MAX_PARAMETERS:
            known["properties"] = {
                name: self.part(each, level + 1) for name, each in properties.items()
            }
        return known

    def _resolved(self, schema: Mapping[str, Any], hops: int) -> dict[str, Any]:
        """Return a schema with an explicit type, without a reference, `null` or `const`."""
        part = dict(schema)
        self.steps += 1
        if hops > MAX_DEPTH or self.steps > MAX_STEPS:
            return part
        if isinstance(part.get("$ref"), str):
            named = self._named(part.pop("$ref"))
            part = _both(self._resolved(named, hops + 1), part)
        whole: dict[str, Any] = {}
        for each in _schemas(part.pop("allOf", None)):
            whole = _both(whole, self._resolved(each, hops + 1))
        part = _both(whole, part)
        for word in ALTERNATIVES:
            kinds = [self._resolved(each, hops + 1) for each in _schemas(part.pop(word, None))]
            part = _both(self._one_of(kinds), part)
        return _typed(part)

    def _named(self, reference: str) -> Mapping[str, Any]:
        """Return the target of a reference inside the schema; an empty schema if there is none."""
        found: Any = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found if reference.startswith("#") and isinstance(found, Mapping) else {}

    def _one_of(self, kinds: list[dict[str, Any]]) -> dict[str, Any]:
        """Return one schema for alternatives with explicit types."""
        kinds = [each for each in kinds if str(each.get("type")) in OF_TYPE]
        types = {each["type"] for each in kinds}
        if types == {"integer", "number"}:
            return {"type": "number"}
        if len(types) > 1 and "anyOf" in self.words:
            return {"anyOf": kinds}
        kinds = [each for each in kinds if each["type"] == kinds[0]["type"]]
        return _merged(kinds) if kinds else {}


def _both(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two schemas; if both have a keyword, the second one's value counts."""
    both = {**first, **second}
    if "properties" in first and "properties" in second:
        both["properties"] = {**_properties(first), **_properties(second)}
    if "required" in first and "required" in second:
        both["required"] = list(dict.fromkeys([*_required(first), *_required(second)]))
    return both


def _schemas(value: Any) -> list[Mapping[str, Any]]:
    """Return the schemas of a list, without null."""
    found = value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, Mapping) and each.get("type") != "null"]


def _properties(part: Mapping[str, Any]) -> Mapping[str, Any]:
    found = part.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(part: Mapping[str, Any]) -> list[str]:
    found = part.get("required")
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _merged(kinds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one schema for alternatives of one type."""
    first = dict(kinds[0])
    if all(each == first for each in kinds):
        return first
    merged: dict[str, Any] = {"type": first["type"]}
    if all(isinstance(each.get("enum"), list) for each in kinds):
        values = [value for each in kinds for value in each["enum"]]
        merged["enum"] = [value for at, value in enumerate(values) if value not in values[:at]]
    if merged["type"] == "array":
        merged["items"] = {"anyOf": [each.get("items", {}) for each in kinds]}
    if merged["type"] == "object":
        parts = [_properties(each) for each in kinds]
        names = dict.fromkeys(name for part in parts for name in part)
        merged["properties"] = {
            name: {"anyOf": [part[name] for part in parts if name in part]} for name in names
        }
        required = set.intersection(*(set(_required(each)) for each in kinds))
        merged["required"] = [name for name in names if name in required]
    return merged


def _typed(part: dict[str, Any]) -> dict[str, Any]:
    """Give a schema a single type; if it names no type, the type of its `enum` values."""
    if "const" in part:
        part["enum"] = [part.pop("const")]
    values = part.get("enum")
    kinds = part.get("type")
    if isinstance(kinds, list):
        named = [each for each in kinds if each != "null"]
        part["type"] = named[0] if named else kinds
    elif kinds is None and "properties" in part:
        part["type"] = "object"
    elif kinds is None and isinstance(values, list):
        found = next((TYPES[type(each)] for each in values if type(each) in TYPES), None)
        part |= {"type": found} if found is not None else {}
    else:
        return part
    if isinstance(values, list):
        part["enum"] = [value for value in values if _may_be(part.get("type"), value)]
    return part


def _may_be(kind: object, value: object) -> bool:
    named = TYPES.get(type(value))
    return named == kind or (kind == "number" and named == "integer")
