"""Evaluator of the CloudFormation intrinsic functions that the template uses."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from local.errors import BadTemplateError

REGION = "us-east-1"
ACCOUNT = "000000000000"
TABLE_NAME = "skein"
REGISTER_NAME = "skein-erasures"
NUMBERS_NAME = "skein-numbers"
BUCKET_NAME = "skein-media"
PSEUDO_PARAMETERS: Mapping[str, Any] = {
    "AWS::AccountId": ACCOUNT,
    "AWS::NoValue": None,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": "skein-local",
    "AWS::URLSuffix": "localhost",
}


def queue_arn(logical_id: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{logical_id}"


def table_arn(name: str) -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"


def function_arn(logical_id: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{logical_id}"


class Resolver:
    """Evaluates references and intrinsic functions.

    Args:
        names: The values of references: of `Ref` by logical id, and of attributes by
            `Id.Attribute`.
        conditions: The template's conditions, not yet evaluated.
        mappings: The template's mappings.
    """

    def __init__(
        self,
        names: Mapping[str, Any],
        conditions: Mapping[str, Any],
        mappings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._names = {**PSEUDO_PARAMETERS, **names}
        self._conditions = conditions
        self._mappings = mappings

    def of(self, value: Any) -> Any:
        """Evaluate all intrinsic functions in a value. List elements without a value are dropped.

        Raises:
            BadTemplateError: A reference has no local value, or a function is not supported.
        """
        if isinstance(value, list):
            return [part for part in map(self.of, value) if part is not None]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name in {"Ref", "Condition"} or name.startswith("Fn::"):
                return self._call(name, argument)
        return {key: self.of(part) for key, part in value.items()}

    def _call(self, function: str, argument: Any) -> Any:
        match function:
            case "Ref" | "Fn::GetAtt":
                return self._named(argument if isinstance(argument, str) else ".".join(argument))
            case "Fn::Sub":
                return self._substitute(argument)
            case "Fn::Join" | "Fn::Split":
                separator, value = str(argument[0]), self.of(argument[1])
                return value.split(separator) if isinstance(value, str) else separator.join(value)
            case "Fn::Select" | "Fn::FindInMap":
                return self._looked_up(*map(self.of, argument))
            case "Fn::If":
                return self.of(argument[1] if self._condition(argument[0]) else argument[2])
            case _:
                return self._logical(function, argument)

    def _looked_up(self, first: Any, second: Any, *third: Any) -> Any:
        """Return an element of a list by its index, or a value of a mapping by its two keys."""
        return self._mappings[first][second][third[0]] if third else second[int(first)]

    def _logical(self, function: str, argument: Any) -> bool:
        match function:
            case "Condition":
                return self._condition(argument)
            case "Fn::Equals":
                left, right = (self.of(part) for part in argument)
                return str(left) == str(right)
            case "Fn::Not":
                return not self.of(argument[0])
            case "Fn::And":
                return all(self.of(part) for part in argument)
            case "Fn::Or":
                return any(self.of(part) for part in argument)
            case _:
                raise BadTemplateError(f"{function} is not supported by the local stack")

    def _condition(self, name: str) -> bool:
        return bool(self.of(self._conditions[name]))

    def _named(self, name: str) -> Any:
        if name not in self._names:
            raise BadTemplateError(f"{name} has no local counterpart")
        return self._names[name]

    def _substitute(self, argument: Any) -> str:
        text, extra = (argument, {}) if isinstance(argument, str) else argument
        own = {name: self.of(part) for name, part in extra.items()}

        def replaced(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            return str(own[name] if name in own else self._named(name))

        return re.sub(r"\$\{([^}]+)\}", replaced, text)
