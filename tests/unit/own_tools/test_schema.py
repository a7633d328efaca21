"""Schemas that all providers accept, and values that do not fit them."""

from typing import Any

import pytest

from skein.own_tools.schema import closed_values, fault_of_schema, fault_of_value


def of(part: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": part}, **more}


DEEP: dict[str, Any] = {"type": "string"}
for _ in range(6):
    DEEP = {"type": "array", "items": DEEP}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "string"}, "parameters.type: it must be object"),
        (of({"$ref": "#/x"}), "parameters.properties.a.type: it must be one of"),
        (of({"type": "string", "pattern": "x"}), "parameters.properties.a.pattern: this word"),
        (of({"type": ["string", "null"]}), "parameters.properties.a.type"),
        (of({"type": "string", "enum": []}), "parameters.properties.a.enum"),
        (of({"type": "string", "enum": [1]}), "parameters.properties.a.enum"),
        (of({"type": "array"}), "parameters.properties.a.items: it is required"),
        (of({"type": "integer", "minimum": "1"}), "parameters.properties.a.minimum"),
        (of({"type": "string", "minLength": -1}), "parameters.properties.a.minLength"),
        (of({"type": "string", "maxLength": 1.5}), "parameters.properties.a.maxLength"),
        (of({"type": "integer", "minimum": 2, "maximum": 1}), "parameters.properties.a.minimum"),
        (of({"type": "integer", "minimum": -1.5}), None),
        (of({"type": "string"}, required=["b"]), "parameters.required: there is no parameter 'b'"),
        (of({"type": "string"}, additionalProperties=True), "parameters.additionalProperties"),
        (of(DEEP), "at most 5 levels"),
        (of(7), "parameters.properties.a: it must be a schema"),
        ({"type": "object", "properties": {"a b": {"type": "string"}}}, "'a b' is no name"),
        (of({"type": "string", "description": "x" * 1001}), "parameters.properties.a.description"),
        (of({"type": "array", "items": {"type": "integer", "enum": [1, 2]}}), None),
        ({"type": "object"}, None),
    ],
)
def test_schema_that_a_provider_may_refuse_is_refused_with_its_path(
    schema: dict[str, Any], fault: str | None
) -> None:
    found = fault_of_schema(schema)
    assert (found is None) == (fault is None)
    assert fault is None or (found is not None and fault in found)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "day": {"type": "string", "enum": ["Mon", "Tue"]},
        "seats": {"type": "integer", "minimum": 1, "maximum": 8},
        "names": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2},
        "at": {"type": "object", "properties": {"hour": {"type": "number"}}, "required": ["hour"]},
        "loud": {"type": "boolean"},
    },
    "required": ["day"],
}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"day": "Mon", "seats": 2.0, "names": ["Ann"], "at": {"hour": 9.5}, "loud": True}, None),
        ({}, "day: Field required"),
        ({"day": "Sun"}, "day: Input should be one of the values of its enum"),
        ({"day": "Mon", "seats": True}, "seats: Input should be of the type integer"),
        ({"day": "Mon", "seats": 9}, "seats: maximum is 8"),
        ({"day": "Mon", "seats": 1.5}, "seats: Input should be of the type integer"),
        ({"day": "Mon", "names": ["Anna"]}, "names.0: maxLength is 3"),
        ({"day": "Mon", "names": ["A", "B", "C"]}, "names: maxItems is 2"),
        ({"day": "Mon", "at": {}}, "at.hour: Field required"),
        ({"day": "Mon", "loud": 1}, "loud: Input should be of the type boolean"),
        ({"day": "Mon", "more": 1}, "arguments: it has an argument"),
    ],
)
def test_value_that_does_not_fit_is_refused_with_its_path(
    value: dict[str, Any], fault: str | None
) -> None:
    found = fault_of_value(SCHEMA, value)
    assert (found is None) == (fault is None)
    assert fault is None or (found is not None and found.startswith(fault))


def test_only_enums_and_booleans_are_closed() -> None:
    assert [*closed_values(SCHEMA)] == ["day", "loud"]
