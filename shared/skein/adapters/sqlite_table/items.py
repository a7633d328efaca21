"""Items as DynamoDB stores them: sizes, conditions and changes.

Items are kept in DynamoDB's notation. `True`, `1` and `"1"` therefore differ as in DynamoDB, and
numbers keep all their digits.
"""

import marshal as serial
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, assert_never

from pydantic_core import from_json, to_json

from skein.adapters.aws.rules import TABLE
from skein.adapters.dynamodb.attributes import (
    REMEMBERED_NUMBERS,
    AttributeValue,
    StoredItem,
    comparable,
    marshal,
    marshal_item,
    unmarshal_item,
)
from skein.models.common.storage import (
    Absent,
    AllOf,
    AnyOf,
    Below,
    Condition,
    Delete,
    Exists,
    Is,
    Item,
    Missing,
    Present,
    Put,
    Update,
)

MAX_ITEM_BYTES = 400 * 1024
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024
COLLECTION_OVERHEAD = 3
ELEMENT_OVERHEAD = 1
REMEMBERED = 2_000  # items; the same agents, chats and members are read again and again
MAX_REMEMBERED_TEXT = 10_000  # characters


def to_text(item: StoredItem) -> str:
    """Return an item as the text that is stored."""
    return to_json(item, bytes_mode="base64").decode()


def item_of(text: str) -> Item:
    """Parse a stored text into an item, which the caller may change."""
    if len(text) > MAX_REMEMBERED_TEXT:
        return unmarshal_item(_parsed(text))
    item: Item = serial.loads(_serialized(text))  # noqa: S302 - written by this process
    return item


@lru_cache(maxsize=REMEMBERED)
def _serialized(text: str) -> bytes:
    """Return an item in a binary form, which is read several times faster than its text."""
    return serial.dumps(unmarshal_item(from_text(text)))


def from_text(text: str, *, without: str | None = None) -> StoredItem:
    """Parse a stored text. The item is cached and shared, so the caller must not change it.

    Args:
        text: The stored text.
        without: An attribute to leave out without parsing it. Its value is a list of numbers.
    """
    if without is not None:
        # Inside a string, the quotes would be escaped. A list of numbers has one closing bracket.
        before, found, rest = text.partition(f'"{without}":{{"L":[')
        if found:
            text = f'{before}"{without}":{{"NULL":true}}{rest.partition("]}")[2]}'
        item = _parsed(text)
        item.pop(without, None)
        return item
    return _remembered(text) if len(text) <= MAX_REMEMBERED_TEXT else _parsed(text)


def _parsed(text: str) -> StoredItem:
    item: StoredItem = from_json(text)
    return _with_bytes(item) if '{"B":' in text else item


_remembered = lru_cache(maxsize=REMEMBERED)(_parsed)


def _with_bytes(value: Any) -> Any:
    """Return attribute values in which the base64 texts of bytes are decoded."""
    if isinstance(value, list):
        return [_with_bytes(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and isinstance(value.get("S", value.get("N")), str):
        return value  # most values, which need no copy
    if value.keys() == {"B"} and isinstance(value["B"], str):
        return {"B": urlsafe_b64decode(value["B"])}
    return {name: _with_bytes(inner) for name, inner in value.items()}


def changed(write: Put | Update | Delete, before: StoredItem | None) -> StoredItem | None:
    """Return an item after a write; None if the write deletes the item.

    Raises:
        ValueError: The write adds to an attribute that is no number.
    """
    match write:
        case Delete():
            return None
        case Put():
            item = marshal_item(write.item)
        case Update():
            kept = {} if before is None else before
            item = {name: value for name, value in kept.items() if name not in write.set}
            item |= marshal_item(write.set)
            for name, by in write.add.items():
                old = item.get(name, {"N": "0"})
                if "N" not in old:
                    raise ValueError(f"{name} is no number and cannot be added to")
                item[name] = marshal(Decimal(old["N"]) + by)
    return item | {TABLE.pk: {"S": write.key.pk}, TABLE.sk: {"S": write.key.sk}}


def holds(condition: Condition, item: StoredItem | None) -> bool:
    """Return whether a condition holds for an item; None stands for a missing item."""
    attributes = {} if item is None else item
    match condition:
        case Exists():
            result = item is not None
        case Missing():
            result = item is None
        case Present(attribute):
            result = attribute in attributes
        case Absent(attribute) | Is(attribute, None):
            result = attribute not in attributes
        case Is(attribute, value):
            result = attributes.get(attribute) == marshal(value)
        case Below(attribute, value):
            result = _below(attributes.get(attribute), comparable(value))
        case AllOf(conditions):
            result = all(holds(inner, item) for inner in conditions)
        case AnyOf(conditions):
            result = any(holds(inner, item) for inner in conditions)
        case _:
            assert_never(condition)
    return result


def _below(found: AttributeValue | None, limit: AttributeValue) -> bool:
    # Values of different types are not ordered.
    if found is None or found.keys() != limit.keys():
        return False
    ((kind, bound),) = limit.items()
    if kind == "N":
        return Decimal(found["N"]) < Decimal(bound)
    return bool(found[kind] < bound)


def item_size(stored: StoredItem) -> int:
    """Return the size of an item in bytes, by DynamoDB's rules.

    See "DynamoDB Item sizes and formats" in the developer guide. The size of a number is an
    approximation, as in the guide.
    """
    texts, rest = [*stored], 0
    for spelled in stored.values():
        text = spelled.get("S")  # most values are strings
        if text is None:
            rest += _size_without_texts(spelled, texts)
        else:
            texts.append(text)
    return _text_size("".join(texts)) + rest


def keys_size(keys: Mapping[str, str]) -> int:
    """Return the size of an item that has only keys."""
    return sum([_text_size(name) + _text_size(text) for name, text in keys.items()])


def as_text(value: bytes) -> str:
    """Encode bytes in base64, as JSON texts contain them."""
    return b64encode(value).decode()


def _size_without_texts(spelled: AttributeValue, texts: list[str]) -> int:
    """Append the texts of a value, to be measured at once, and return the size of the rest."""
    ((kind, value),) = spelled.items()
    match kind:
        case "S":
            texts.append(value)
            return 0
        case "N":
            return _number_size(value)
        case "L":
            inner = sum([_size_without_texts(each, texts) for each in value])
            return COLLECTION_OVERHEAD + len(value) * ELEMENT_OVERHEAD + inner
        case "M":
            texts += value
            inner = sum([_size_without_texts(each, texts) for each in value.values()])
            return COLLECTION_OVERHEAD + len(value) * ELEMENT_OVERHEAD + inner
        case "B":
            return len(value)
        case _:
            return 1


@lru_cache(maxsize=REMEMBERED_NUMBERS)
def _number_size(number: str) -> int:
    """Return the size of a number, which depends on its digits between the outer zeros."""
    digits = len(number.replace(".", "").strip("-0")) or 1
    return (digits + 1) // 2 + 1


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
