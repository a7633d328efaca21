"""Conversion between DynamoDB attribute values, `{"N": "41"}`, and Python values, `41`."""

import base64
from collections.abc import Mapping
from decimal import (
    Clamped,
    Context,
    Decimal,
    DecimalException,
    Inexact,
    Overflow,
    Rounded,
    Underflow,
)
from functools import lru_cache
from typing import Any

AttributeValue = dict[str, Any]
StoredItem = dict[str, AttributeValue]

COMPARABLE = frozenset({"S", "N", "B"})

# DynamoDB numbers hold 38 digits; the traps prevent silent rounding.
_NUMBERS = Context(
    prec=38, Emin=-128, Emax=126, traps=[Clamped, Overflow, Inexact, Rounded, Underflow]
)
_EXACT = 10**38  # whole numbers below this have at most 38 digits
_SMALLEST_PLAIN = 1e-4  # Python writes smaller fractions with an exponent
REMEMBERED_NUMBERS = 10_000  # most components of vectors, which have four decimal places


def marshal(value: Any) -> AttributeValue:
    """Convert a value to a DynamoDB attribute value.

    Equal values have equal results, for example 1 and 1.0.

    Raises:
        ValueError: A number has more than 38 digits or is not finite, a string has a lone
            surrogate, or a name in a mapping is empty.
        TypeError: DynamoDB has no type for the value.
    """
    # Most values are strings, whole numbers, and components of vectors.
    kind = type(value)
    if kind is str:
        return {"S": _unicode(value)}
    if kind is float or kind is int:
        return {"N": _number(value)}
    if kind is dict:
        return {"M": {_name(name): marshal(inner) for name, inner in value.items()}}
    if kind is list or kind is tuple:
        return {"L": [marshal(inner) for inner in value]}
    return _marshal_other(value)


def _marshal_other(value: Any) -> AttributeValue:
    match value:
        case None:
            spelled: AttributeValue = {"NULL": True}
        case bool():
            spelled = {"BOOL": value}
        case int() | float() | Decimal():
            spelled = {"N": _number(value)}
        case str():  # of a subclass, as numbers, mappings and lists may be
            spelled = {"S": _unicode(value)}
        case bytes():
            spelled = {"B": value}
        case Mapping():
            spelled = marshal(dict(value))
        case list() | tuple():
            spelled = marshal(list(value))
        case _:
            raise TypeError(f"the table cannot store a {type(value).__name__}")
    return spelled


def unmarshal(spelled: Mapping[str, Any]) -> Any:
    """Convert an attribute value to Python; whole numbers become ints, other numbers floats.

    Args:
        spelled: The attribute value. The events of a stream contain bytes as base64.

    Raises:
        ValueError: A text is not valid base64, or the value has not exactly one type.
    """
    ((kind, value),) = spelled.items()
    if kind == "S":  # most values are strings
        return value
    if kind == "N":
        return int(value) if value.isdecimal() else _to_python(value)
    if kind == "M":
        return {name: unmarshal(inner) for name, inner in value.items()}
    if kind == "L":
        return [unmarshal(inner) for inner in value]
    return _unmarshal_other(kind, value)


def _unmarshal_other(kind: str, value: Any) -> Any:
    if kind == "B" and isinstance(value, str):
        return base64.b64decode(value, validate=True)
    return None if kind == "NULL" else value


def comparable(value: Any) -> AttributeValue:
    """Convert a value so that it can be compared with `<`.

    Raises:
        ValueError: Values of this type have no order.
    """
    spelled = marshal(value)
    if COMPARABLE.isdisjoint(spelled):
        raise ValueError(f"a {type(value).__name__} cannot be compared in order")
    return spelled


def marshal_item(item: Mapping[str, Any]) -> StoredItem:
    """Convert an item to DynamoDB attribute values; attributes that are None are left out."""
    return {_name(name): marshal(value) for name, value in item.items() if value is not None}


def unmarshal_item(stored: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Convert the attribute values of an item to Python values."""
    # Most values are strings, for which a call of `unmarshal` takes four times as long.
    return {
        name: value["S"] if "S" in value and len(value) == 1 else unmarshal(value)
        for name, value in stored.items()
    }


def _to_python(text: str) -> float:
    number = float(text)
    if not number.is_integer():
        return number
    exact = Decimal(text)  # a float has too few digits for some whole numbers
    return int(exact) if exact == exact.to_integral_value() else number


def _unicode(text: str) -> str:
    if not text.isascii():
        text.encode()  # raises for text that is not Unicode, which engines handle differently
    return text


def _name(name: str) -> str:
    if not name:
        raise ValueError("an attribute needs a name")
    return name


@lru_cache(maxsize=REMEMBERED_NUMBERS, typed=True)
def _number(value: float | Decimal) -> str:
    if type(value) is float and _SMALLEST_PLAIN <= abs(value) < 1:
        return repr(value)  # Python writes these without an exponent
    if type(value) is int and abs(value) < _EXACT:
        return str(value)
    try:
        # Through `str`, 0.1 stays 0.1; its exact binary value has too many digits.
        number = _NUMBERS.create_decimal(str(value))
    except DecimalException:
        raise ValueError(f"the table cannot hold the number {value!r}") from None
    if not number.is_finite():
        raise ValueError(f"the table cannot hold the number {value!r}")
    return format(number.normalize(_NUMBERS), "f") if number else "0"
