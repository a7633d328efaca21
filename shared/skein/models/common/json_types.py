"""Exact types of request bodies and tool arguments, without conversions.

By default, pydantic accepts `"5"` and `false` as numbers, and `0` as false. A client's mistake
would then be stored as another value. So every number and boolean in a request body or in a tool's
arguments has one of these types (tests/architecture/test_json_types.py).
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Strict
from pydantic_core import PydanticCustomError

MAX_DIGITS = 38  # of a number in the table


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


# Must come last in the `Annotated` of an `int` or a `float`, after the bounds: before them,
# pydantic's JSON schema would lose the bounds. `StrictInt` is too strict: in JSON, 5.0 is an
# integer too.
NUMBER = BeforeValidator(_number)
JsonBool = Annotated[bool, Strict()]
JsonTrue = Annotated[Literal[True], BeforeValidator(_truth)]  # 1 equals True
