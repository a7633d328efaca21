"""Tools that a request marks `strict` follow OpenAI's documented rules, at every level.

The rules: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas. OpenAI
answers a request with any other strict schema with 400, and so fails each turn of the agent.
"""

import json
from collections.abc import Iterator
from datetime import date
from types import GenericAlias
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, create_model

from skein.adapters.openai.model import tools_on_wire
from skein.agent.tools import TOOLS
from skein.interface.tool import schema_for_models
from skein.models.runs.completion import ToolSpec
from skein.models.runs.reduced_schema import reduced
from skein.models.runs.strict_schema import MAX_ENUM_VALUES, closed_if_strict
from skein.own_tools.items import CallableTool
from skein.own_tools.models.tool import HttpCall, OwnTool
from skein.own_tools.schema import fault_of_schema
from tests.support.builders import NOON, TENANT

WORDS = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"pattern", "format"},
    "integer": {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "number": {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "boolean": set[str](),
}
LEVELS = 10
PROPERTIES = 5_000
ENUM_VALUES = 1_000
CHARACTERS = 120_000
TEXT: dict[str, Any] = {"type": "string"}


def faults_of(schema: dict[str, Any]) -> list[str]:
    """Return what OpenAI would refuse in a strict schema, with its place."""
    parts = list(_parts(schema, "parameters", 1))
    found = [fault for part, path, level in parts for fault in _faults(part, path, level)]
    named = [name for part, _, _ in parts for name in part.get("properties", {})]
    values = [value for part, _, _ in parts for value in part.get("enum", ())]
    if schema.get("type") != "object" or "anyOf" in schema:
        found.append("parameters: the root must be an object")
    if len(named) > PROPERTIES or len(values) > ENUM_VALUES:
        found.append("parameters: too many properties or values of enums")
    if sum(len(str(text)) for text in [*named, *values]) > CHARACTERS:
        found.append("parameters: too long")
    return found


def _parts(schema: Any, path: str, level: int) -> Iterator[tuple[dict[str, Any], str, int]]:
    yield schema, path, level
    for name, part in schema.get("properties", {}).items():
        yield from _parts(part, f"{path}.{name}", level + 1)
    for number, part in enumerate(schema.get("anyOf", ())):
        yield from _parts(part, f"{path}.{number}", level)
    if "items" in schema:
        yield from _parts(schema["items"], f"{path}.items", level + 1)


def _faults(part: dict[str, Any], path: str, level: int) -> Iterator[str]:
    if level > LEVELS:
        yield f"{path}: too deep"
    if "anyOf" in part:
        words: set[str] = {"anyOf"}
    elif part.get("type") in WORDS:
        words = WORDS[part["type"]]
    else:
        yield f"{path}: no type"
        return
    for word in part.keys() - words - {"type", "description", "enum"}:
        yield f"{path}: {word} is not supported"
    if part.get("type") == "object":
        if part.get("additionalProperties") is not False:
            yield f"{path}: additionalProperties is required to be supplied and to be false"
        if not part.get("properties") or set(part["properties"]) != set(part.get("required", ())):
            yield f"{path}: required must include every property"


def sent(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return an own tool with these parameters, as a request carries it."""
    tool = OwnTool(
        tenant=TENANT,
        name="book",
        description="Book.",
        parameters=parameters,
        http=HttpCall(method="POST", url="https://shop.example/book", headers={}),
        privacy="keeps_by_person",
        nonce="n",
        rights={},
        created_at=NOON,
    )
    [wire] = tools_on_wire([CallableTool(tool).spec])
    function: dict[str, Any] = wire["function"]
    return function


def accepted(function: dict[str, Any]) -> list[str]:
    """Return the faults of a function that is sent as strict; none for another."""
    return faults_of(function["parameters"]) if function.get("strict") else []


def of(*, required: bool = True, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | ({"required": list(properties)} if required else {})


@pytest.mark.parametrize("name", TOOLS)
def test_built_in_tool_is_accepted(name: str) -> None:
    [wire] = tools_on_wire([TOOLS[name].spec])
    assert accepted(wire["function"]) == []


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (of(day=TEXT), True),
        (of(order=of(sku=TEXT, note=TEXT)), True),
        (of(orders={"type": "array", "items": of(sku=TEXT)}), True),
        (of(seats={"type": "integer", "minimum": 1, "maximum": 8}), True),
        (of(order=of(sku=TEXT, required=False)), False),
        (of(order={**of(sku=TEXT, note=TEXT), "required": ["sku"]}), False),
        (of(orders={"type": "array", "items": {"type": "object"}}), False),
        (of(word={"type": "string", "maxLength": 3}), False),
        (of(day=TEXT, required=False), False),
        ({"type": "object"}, False),
    ],
)
def test_own_tool_is_strict_if_all_of_its_objects_can_be(
    schema: dict[str, Any], strict: bool
) -> None:
    assert fault_of_schema(schema) is None
    function = sent(schema)
    assert function.get("strict", False) == strict
    assert accepted(function) == []
    if not strict:
        assert function["parameters"] == schema


def test_required_arguments_in_another_order_are_strict() -> None:
    assert sent({**of(day=TEXT, seats=TEXT), "required": ["seats", "day"]})["strict"]


def test_own_tool_with_too_many_values_is_not_strict() -> None:
    values = {"type": "string", "enum": [f"value {number}" for number in range(100)]}
    names = [f"a{number}" for number in range(MAX_ENUM_VALUES // 100 + 1)]
    schema = of(required=True, **dict.fromkeys(names, values))
    assert fault_of_schema(schema) is None
    assert "strict" not in sent(schema)


@pytest.mark.parametrize("rest", [{}, {"additionalProperties": False}])
def test_nested_object_of_an_mcp_server_is_accepted(rest: dict[str, Any]) -> None:
    inner = {**of(sku=TEXT), "title": "Order", **rest}
    listed = {**of(order={"$ref": "#/$defs/Order"}), "$defs": {"Order": inner}, **rest}
    function = sent(reduced(listed))
    assert function["strict"]
    assert accepted(function) == []


def _schemas() -> st.SearchStrategy[dict[str, Any]]:
    bounds = st.sampled_from([{}, {"minimum": 1}])
    lengths = st.sampled_from([{}, {"maxLength": 9}, {"enum": ["a", "b"]}, {"pattern": "a"}])
    plain = st.one_of(
        st.builds(lambda more: {"type": "string", **more}, lengths),
        st.builds(lambda more: {"type": "integer", **more}, bounds),
        st.just({"type": "boolean"}),
    )
    return st.recursive(plain, _larger, max_leaves=6)


def _larger(parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.builds(lambda part: {"type": "array", "items": part}, parts)
    return lists | _objects(parts)


@st.composite
def _objects(draw: st.DrawFn, parts: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    properties = draw(st.dictionaries(st.sampled_from("abc"), parts, max_size=3))
    required = draw(st.just(list(properties)) | st.just(list(properties)[1:]))
    rest = draw(st.sampled_from([{}, {"additionalProperties": False}]))
    return {"type": "object", "properties": properties, "required": required, **rest}


def _foreign() -> st.SearchStrategy[Any]:
    """Schemas as others write them, and what only looks like one."""
    words = ["type", "enum", "items", "properties", "required", "anyOf", "oneOf", "allOf", "$ref"]
    words += ["const", "minLength", "maximum", "additionalProperties", "description", "title"]
    kinds = st.sampled_from(["object", "array", "string", "integer", "null", "#", "#/$defs/a", 1])
    values = st.none() | kinds | _schemas() | st.just({"type": "object", "properties": {"a": TEXT}})
    inside = st.recursive(
        values,
        lambda part: (
            st.lists(part, max_size=3)
            | st.dictionaries(st.sampled_from([*words, "a", "b"]), part, max_size=4)
        ),
        max_leaves=12,
    )
    return st.dictionaries(st.sampled_from([*words, "$defs"]), inside, max_size=6)


@given(_objects(_schemas()) | _foreign().map(lambda part: part | {"type": "object"}))
def test_schema_is_strict_only_if_it_is_accepted(schema: dict[str, Any]) -> None:
    given_as = json.dumps(schema)
    shown = reduced(schema)
    if fault_of_schema(shown) is None:
        assert accepted(sent(shown)) == []
        assert reduced(shown) == shown
    assert json.dumps(schema) == given_as


TYPES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([str, int, float, bool, date, UUID, Literal["a", "b"], Literal[1]])
    | st.just(Annotated[str, Field(pattern="a", title="T", examples=["a"], max_length=9)])
    | st.just(Annotated[int, Field(gt=1, description="D.")]),
    lambda kind: (
        st.builds(lambda one: one | None, kind)
        | st.builds(lambda one, other: one | other, kind, kind)
        | st.builds(lambda one: GenericAlias(list, (one,)), kind)
        | st.builds(lambda one: create_model("Part", b=(one, ...), c=(one, None)), kind)
    ),
    max_leaves=3,
)


@given(st.dictionaries(st.sampled_from("abc"), TYPES, max_size=3))
def test_any_schema_of_pydantic_is_accepted(fields: dict[str, Any]) -> None:
    given_as: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    model = create_model("Arguments", **given_as)
    shown = reduced(model.model_json_schema())
    assert (fault_of_schema(shown) or "at most 5 levels").endswith("at most 5 levels")
    assert accepted(sent(shown)) == []
    of_function = schema_for_models(model.model_json_schema())
    assert accepted(ToolSpec(name="a", description="A.", parameters=of_function).function) == []


@given(_objects(_schemas()))
def test_any_schema_of_a_spec_is_strict_only_if_it_is_accepted(schema: dict[str, Any]) -> None:
    given_as = json.dumps(schema)
    for parameters in (schema, closed_if_strict(schema)):
        assert accepted(ToolSpec(name="a", description="A.", parameters=parameters).function) == []
    assert json.dumps(schema) == given_as
