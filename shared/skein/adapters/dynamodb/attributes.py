"""Conversion between DynamoDB attribute values, `{"N": "41"}`, and Python values, `41`."""

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
from typing import Any

AttributeValue = dict[str, Any]
StoredItem = dict[str, AttributeValue]

COMPARABLE = frozenset({"S", "N", "B"})

# DynamoDB numbers hold 38 digits; the traps prevent silent rounding.
_NUMBERS = Context(
    prec=38, Emin=-128, Emax=126, traps=[Clamped, Overflow, Inexact, Rounded, Underflow]
)
_EXACT = 10**38  # whole numbers below have at most 38 digits
_SMALLEST_PLAIN = 1e-4  # Python writes smaller fractions with an exponent


def marshal(value: Any) -> AttributeValue:
    """Convert a value to a DynamoDB attribute value; equal values of all types convert alike.

    Raises:
        ValueError: A number has more than 38 digits or is not finite, a string has half a surrogate
            pair, or a name in a mapping is empty.
        TypeError: DynamoDB has no type for the value.
    """
    # Most values are strings and whole numbers.
    if type(value) is str:
        return {"S": _unicode(value)}
    if type(value) is int and abs(value) < _EXACT:
        return {"N": str(value)}
    match value:
        case None:
            spelled: AttributeValue = {"NULL": True}
        case bool():
            spelled = {"BOOL": value}
        case int() | float() | Decimal():
            spelled = {"N": _number(value)}
        case str():
            spelled = {"S": _unicode(value)}
        case bytes():
            spelled = {"B": value}
        case Mapping():
            spelled = {"M": {_name(name): marshal(inner) for name, inner in value.items()}}
        case list() | tuple():
            spelled = {"L": [marshal(inner) for inner in value]}
        case _:
            raise TypeError(f"the table cannot store a {type(value).__name__}")
    return spelled


def unmarshal(spelled: Mapping[str, Any]) -> Any:
    """Convert a DynamoDB attribute value to Python; whole numbers are ints, others floats."""
    ((kind, value),) = spelled.items()
    if kind == "S":  # most values are strings
        return value
    match kind:
        case "NULL":
            return None
        case "N":
            return int(value) if value.isdecimal() else _to_python(Decimal(value))
        case "M":
            return {name: unmarshal(inner) for name, inner in value.items()}
        case "L":
            return [unmarshal(inner) for inner in value]
        case _:
            return value


def comparable(value: Any) -> AttributeValue:
    """Convert a value for a comparison by `<`.

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


def _to_python(number: Decimal) -> float:
    return int(number) if number == number.to_integral_value() else float(number)


def _unicode(text: str) -> str:
    if not text.isascii():
        text.encode()  # raises for text that is not Unicode, which engines handle differently
    return text


def _name(name: str) -> str:
    if not name:
        raise ValueError("an attribute needs a name")
    return name


def _number(value: float | Decimal) -> str:
    # Most of these are components of vectors. Python writes them without an exponent.
    if type(value) is float and _SMALLEST_PLAIN <= abs(value) < 1:
        return repr(value)
    try:
        # Through `str`, 0.1 stays 0.1; its exact binary value has too many digits.
        number = _NUMBERS.create_decimal(str(value))
    except DecimalException:
        raise ValueError(f"the table cannot hold the number {value!r}") from None
    if not number.is_finite():
        raise ValueError(f"the table cannot hold the number {value!r}")
    return format(number.normalize(_NUMBERS), "f") if number else "0"
