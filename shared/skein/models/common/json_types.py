"""Bodies of requests mean what they say: a number is no text, and `false` is no zero.

Left to itself pydantic takes `"5"` and `false` for numbers, and `0` for false. What a client sends
by mistake would then be stored as something else.
"""

from typing import Any, cast

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

MAX_DIGITS = 38  # of a number in the table


def _exact(schema: Any) -> Any:
    """A copy of a schema in which nothing is made a number or a truth value."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(_exact, schema))
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") in {"int", "float"}:
        return core_schema.no_info_before_validator_function(_number, cast("CoreSchema", schema))
    if schema.get("type") == "bool":
        return {**schema, "strict": True}
    if schema.get("type") == "literal" and True in schema["expected"]:
        return core_schema.no_info_before_validator_function(
            _truth, cast("CoreSchema", schema)
        )  # 1 equals True
    return {name: part if name == "metadata" else _exact(part) for name, part in schema.items()}


def _number(value: object) -> object:
    if isinstance(value, bool | str):
        raise PydanticCustomError("number_type", "Input should be a number")
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        raise PydanticCustomError(
            "number_size", "Input should have at most {digits} digits", {"digits": MAX_DIGITS}
        )
    return value


def _truth(value: object) -> object:
    if not isinstance(value, bool):
        raise PydanticCustomError("bool_type", "Input should be a valid boolean")
    return value


class JsonTypes(BaseModel):
    """A model whose numbers and truth values, nested ones included, must be such in JSON."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The model's schema, its numbers and truth values taken as they are."""
        exact: CoreSchema = _exact(handler(source))
        return exact
