"""Conversion of conditions and writes of `skein.models.common.storage` to DynamoDB expressions.

All names and values in expressions are placeholders. So no attribute name collides with a reserved
word, and no value is parsed as part of an expression.
"""

from typing import Any, assert_never

from skein.adapters.dynamodb.attributes import AttributeValue, comparable, marshal, marshal_item
from skein.models.common.storage import (
    Absent,
    AllOf,
    AnyOf,
    Below,
    Check,
    Condition,
    Delete,
    Exists,
    Is,
    Key,
    Missing,
    Present,
    Put,
    Update,
    Write,
)

Request = dict[str, Any]


class Expression:
    """The placeholders that all expressions of one request share."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: list[AttributeValue] = []

    def name(self, attribute: str) -> str:
        return self._names.setdefault(attribute, f"#n{len(self._names)}")

    def value(self, spelled: AttributeValue) -> str:
        """Return a new placeholder for a value."""
        self._values.append(spelled)
        return f":v{len(self._values) - 1}"

    def placeholders(self) -> Request:
        """Return the parts of a request that define the placeholders."""
        parts: Request = {}
        if self._names:
            parts["ExpressionAttributeNames"] = {to: name for name, to in self._names.items()}
        if self._values:
            parts["ExpressionAttributeValues"] = {
                f":v{position}": value for position, value in enumerate(self._values)
            }
        return parts

    def condition(self, condition: Condition) -> str:
        """Convert a condition to the text of a DynamoDB condition expression."""
        match condition:
            case Exists():
                text = f"attribute_exists({self.name('pk')})"
            case Missing():
                text = f"attribute_not_exists({self.name('pk')})"
            case Present(attribute):
                text = f"attribute_exists({self.name(attribute)})"
            case Absent(attribute) | Is(attribute, None):
                text = f"attribute_not_exists({self.name(attribute)})"
            case Is(attribute, value):
                text = f"{self.name(attribute)} = {self.value(marshal(value))}"
            case Below(attribute, value):
                text = f"{self.name(attribute)} < {self.value(comparable(value))}"
            case AllOf(conditions):
                text = self._joined(" AND ", conditions)
            case AnyOf(conditions):
                text = self._joined(" OR ", conditions)
            case _:
                assert_never(condition)
        return text

    def _joined(self, operator: str, conditions: tuple[Condition, ...]) -> str:
        if not conditions:
            # Expressions have no constants: an empty AllOf always holds, an empty AnyOf never.
            opposites: tuple[Condition, ...] = (Exists(), Missing())
            return self._joined(" OR " if operator == " AND " else " AND ", opposites)
        texts = [self.condition(condition) for condition in conditions]
        # DynamoDB refuses redundant parentheses.
        return texts[0] if len(texts) == 1 else f"({operator.join(texts)})"


def spelled_key(key: Key) -> dict[str, AttributeValue]:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def request_for(write: Write, table_name: str) -> Request:
    """Return the request of one write; inside a transaction, its form is the same."""
    expression = Expression()
    request: Request = {"TableName": table_name}
    match write:
        case Put():
            request["Item"] = marshal_item(write.item) | spelled_key(write.key)
        case Update():
            request["Key"] = spelled_key(write.key)
            request["UpdateExpression"] = _update(expression, write)
        case Delete() | Check():
            request["Key"] = spelled_key(write.key)
    if write.condition is not None:
        request["ConditionExpression"] = expression.condition(write.condition)
    return request | expression.placeholders()


def _update(expression: Expression, update: Update) -> str:
    sets = [
        f"{expression.name(name)} = {expression.value(marshal(value))}"
        for name, value in update.set.items()
        if value is not None
    ]
    removes = [expression.name(name) for name, value in update.set.items() if value is None]
    adds = [
        f"{expression.name(name)} {expression.value(marshal(by))}"
        for name, by in update.add.items()
    ]
    clauses = (("SET", sets), ("REMOVE", removes), ("ADD", adds))
    return " ".join(f"{keyword} {', '.join(terms)}" for keyword, terms in clauses if terms)
