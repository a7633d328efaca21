"""Schemas as pydantic and MCP servers write them, in the words that all providers accept."""

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from skein.models.runs.reduced_schema import MAX_PARAMETERS, OF_FUNCTION, reduced
from skein.own_tools.schema import fault_of_schema

TEXT: dict[str, Any] = {"type": "string"}


def of(part: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": part}, **more}


class Size(Enum):
    """A size."""

    SMALL = "small"
    LARGE = "large"


class Line(BaseModel):
    """A line of an order."""

    sku: Annotated[str, Field(pattern="^[A-Z]+$", description="The article.")]
    count: Annotated[int, Field(ge=1, le=9)] = 1
    size: Size | None = None


class Card(BaseModel):
    kind: Literal["card"]
    number: str


class Invoice(BaseModel):
    kind: Literal["invoice"]
    address: str


class Order(BaseModel):
    """What a customer orders."""

    lines: list[Line]
    paid_by: Annotated[Card | Invoice, Field(discriminator="kind")]
    note: str | None = Field(default=None, title="Note", examples=["soon"])


def test_schema_of_a_pydantic_model_is_reduced() -> None:
    shown = reduced(Order.model_json_schema())
    assert fault_of_schema(shown) is None
    line = shown["properties"]["lines"]["items"]
    assert line["properties"] == {
        "sku": {"type": "string", "description": "The article."},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "size": {"type": "string", "enum": ["small", "large"], "description": "A size."},
    }
    assert line["required"] == ["sku"]
    assert shown["properties"]["paid_by"] == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["card", "invoice"]},
            "number": TEXT,
            "address": TEXT,
        },
        "required": ["kind"],
    }
    assert shown["properties"]["note"] == TEXT
    assert shown["required"] == ["lines", "paid_by"]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": ["null", "integer"], "default": None}, {"type": "integer"}),
        ({"type": ["string", "integer"], "enum": ["a", 1]}, {"type": "string", "enum": ["a"]}),
        ({"const": True}, {"type": "boolean", "enum": [True]}),
        ({"enum": [2, 1, None]}, {"type": "integer", "enum": [2, 1]}),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, {"type": "number"}),
        ({"anyOf": [TEXT, {"type": "array", "items": TEXT}]}, TEXT),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"$ref": "#/definitions/a~1b"}, TEXT),
        (
            {"allOf": [of(TEXT, required=["a"]), {"properties": {"b": TEXT}, "required": ["b"]}]},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
        ),
        (
            {"anyOf": [{"type": "array", "items": TEXT}, {"type": "array", "items": of(TEXT)}]},
            {"type": "array", "items": TEXT},
        ),
        ({**TEXT, "format": "date", "minLength": None, "maxLength": 9}, {**TEXT, "maxLength": 9}),
    ],
)
def test_part_is_reduced_to_one_type(part: dict[str, Any], shown: dict[str, Any]) -> None:
    schema = of(part, definitions={"a/b": {**TEXT, "title": "A"}})
    assert reduced(schema) == of(shown)


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (of({"title": "Anything"}), "parameters.properties.a.type: "),
        (of({"$ref": "https://a.example/#/x"}), "parameters.properties.a.type: "),
        (of({"anyOf": [{"type": "null"}]}), "parameters.properties.a.type: "),
        (of({"type": "array"}), "parameters.properties.a.items.type: "),
        (of({**TEXT, "minLength": 2, "maxLength": 1}), "parameters.properties.a.minLength: "),
        (of({**TEXT, "enum": [1]}), "parameters.properties.a.enum: "),
        ({"properties": {"a": {"$ref": "#"}}}, "at most 5 levels"),
        (create_model("M", **dict.fromkeys([f"a{n}" for n in range(61)], str)), "at most 60"),  # type: ignore[call-overload]
    ],
)
def test_part_of_which_nothing_remains_is_refused_by_its_name(schema: Any, fault: str) -> None:
    given = schema if isinstance(schema, dict) else schema.model_json_schema()
    assert fault in (fault_of_schema(reduced(given)) or "")


@pytest.mark.parametrize("word", ["anyOf", "properties", "allOf"])
def test_schema_that_contains_itself_often_is_reduced_at_once(word: str) -> None:
    many = [{"$ref": "#"}] * MAX_PARAMETERS
    inside = {f"a{n}": part for n, part in enumerate(many)} if word == "properties" else many
    shown = reduced({"type": "object", "properties": {"a": {"type": "object", word: inside}}})
    assert len(str(shown)) < 100_000


def test_schema_of_a_function_keeps_all_types_and_open_objects_but_no_bounds() -> None:
    class Arguments(BaseModel):
        value: Annotated[str, Field(max_length=3)] | list[int]
        counts: dict[str, int]
        line: Line

    shown = reduced(Arguments.model_json_schema(), words=OF_FUNCTION)["properties"]
    assert shown["value"] == {"anyOf": [TEXT, {"type": "array", "items": {"type": "integer"}}]}
    assert shown["counts"]["additionalProperties"] == {"type": "integer"}
    assert shown["line"]["properties"]["count"] == {"type": "integer"}
