"""Reads `template.yaml`, so that what runs here is what would be deployed.

CloudFormation's short tags (`!Ref`, `!Sub` ...) become their long form (`{"Ref": ...}`); whoever
needs a value has it resolved by `Template.resolve` against the names that things have locally.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "template.yaml"

REGION = "us-east-1"
ACCOUNT = "000000000000"
PSEUDO_PARAMETERS = {
    "AWS::AccountId": ACCOUNT,
    "AWS::NoValue": None,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": "skein-local",
    "AWS::URLSuffix": "localhost",
}


class BadTemplateError(Exception):
    """The template holds something that the local stack does not understand."""


@dataclass(frozen=True)
class Queue:
    """An SQS queue. Seconds are seconds; `dead_letters` is the logical id of its DLQ."""

    logical_id: str
    delay: int
    visibility: int
    max_receives: int | None
    dead_letters: str | None


@dataclass(frozen=True)
class Route:
    """One method and path of the HTTP API, and the scopes that the gateway itself asks for."""

    method: str
    path: str
    authorized: bool
    scopes: tuple[str, ...]


@dataclass(frozen=True)
class QueueSource:
    """A queue that calls a function."""

    queue: str
    batch_size: int
    partial_failures: bool
    concurrency: int | None


@dataclass(frozen=True)
class Schedule:
    """A `rate(...)` or `cron(...)` that calls a function; `input` replaces the event if set."""

    name: str
    expression: str
    input: str | None


@dataclass(frozen=True)
class Function:
    """A Lambda function: where its code is, its limits, and what calls it."""

    logical_id: str
    code: Path
    handler: str
    timeout: int
    memory: int
    environment: Mapping[str, Any]
    routes: tuple[Route, ...]
    queues: tuple[QueueSource, ...]
    schedules: tuple[Schedule, ...]


class Template:
    """The parsed template.

    Args:
        document: The template as data, short tags in their long form.
        root: The folder that paths in it are relative to.
    """

    def __init__(self, document: Mapping[str, Any], root: Path = ROOT) -> None:
        self.document = document
        self.root = root

    @classmethod
    def load(cls, path: Path = TEMPLATE) -> "Template":
        """Read a template from a file.

        Raises:
            BadTemplateError: It is missing or no YAML.
        """
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
        except (OSError, yaml.YAMLError) as error:
            raise BadTemplateError(f"{path.name} cannot be read: {error}") from error
        if not isinstance(document, dict):
            raise BadTemplateError(f"{path.name} holds no template")
        return cls(document, path.parent)

    def resources(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The logical ids and properties of all resources of one type."""
        for logical_id, resource in self.document.get("Resources", {}).items():
            if resource.get("Type") == kind:
                yield logical_id, resource.get("Properties") or {}

    def parameters(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The parameters: what is given, else their defaults, else an empty text."""
        declared = self.document.get("Parameters", {})
        return {name: (given or {}).get(name, p.get("Default", "")) for name, p in declared.items()}

    @cached_property
    def table(self) -> tuple[str, dict[str, Any]]:
        """The logical id of the one table, and what `create_table` needs besides its name."""
        tables = list(self.resources("AWS::DynamoDB::Table"))
        if len(tables) != 1:
            raise BadTemplateError(f"one table is expected, there are {len(tables)}")
        logical_id, properties = tables[0]
        return logical_id, {
            "AttributeDefinitions": properties["AttributeDefinitions"],
            "KeySchema": properties["KeySchema"],
            "GlobalSecondaryIndexes": [
                {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
                for index in properties.get("GlobalSecondaryIndexes", ())
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }

    @cached_property
    def queues(self) -> tuple[Queue, ...]:
        """Every queue, DLQs included."""
        return tuple(
            Queue(
                logical_id=logical_id,
                delay=int(properties.get("DelaySeconds", 0)),
                visibility=int(properties.get("VisibilityTimeout", 30)),
                max_receives=_number(properties.get("RedrivePolicy", {}).get("maxReceiveCount")),
                dead_letters=_target(
                    properties.get("RedrivePolicy", {}).get("deadLetterTargetArn")
                ),
            )
            for logical_id, properties in self.resources("AWS::SQS::Queue")
        )

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function with what calls it."""
        return tuple(
            self._function(logical_id, properties)
            for logical_id, properties in self.resources("AWS::Serverless::Function")
        )

    def _function(self, logical_id: str, properties: Mapping[str, Any]) -> Function:
        common = self.document.get("Globals", {}).get("Function", {})
        merged = {**common, **properties}
        events = list((properties.get("Events") or {}).items())
        environment = {
            **common.get("Environment", {}).get("Variables", {}),
            **properties.get("Environment", {}).get("Variables", {}),
        }
        return Function(
            logical_id=logical_id,
            code=self.root / merged["CodeUri"],
            handler=merged["Handler"],
            timeout=int(merged.get("Timeout", 3)),
            memory=int(merged.get("MemorySize", 128)),
            environment=environment,
            routes=tuple(self._route(e["Properties"]) for _, e in events if e["Type"] == "HttpApi"),
            queues=tuple(_queue_source(e["Properties"]) for _, e in events if e["Type"] == "SQS"),
            schedules=tuple(
                Schedule(
                    name=f"{logical_id}{name}",
                    expression=e["Properties"].get("Schedule")
                    or e["Properties"].get("ScheduleExpression"),
                    input=e["Properties"].get("Input"),
                )
                for name, e in events
                if e["Type"] in {"Schedule", "ScheduleV2"}
            ),
        )

    def _route(self, properties: Mapping[str, Any]) -> Route:
        auth = properties.get("Auth") or {}
        chosen = auth.get("Authorizer", self._default_authorizer(properties))
        return Route(
            method=str(properties.get("Method", "ANY")).upper(),
            path=str(properties.get("Path", "$default")),
            authorized=chosen not in {None, "NONE"},
            scopes=tuple(auth.get("AuthorizationScopes", ())),
        )

    def _default_authorizer(self, properties: Mapping[str, Any]) -> str | None:
        api = self.document.get("Globals", {}).get("HttpApi", {})
        named = _target(properties.get("ApiId"))
        for logical_id, own in self.resources("AWS::Serverless::HttpApi"):
            if named in {None, logical_id}:
                api = {**api, **own}
        default = (api.get("Auth") or {}).get("DefaultAuthorizer")
        return None if default is None else str(default)

    def resolve(self, value: Any, names: Mapping[str, Any]) -> Any:
        """Replace references in a value by what they stand for here.

        Args:
            value: Any part of the template.
            names: Of `Ref` targets by logical id, and of attributes as `Id.Attribute`; parameters
                and pseudo parameters that are not among them take their defaults.

        Raises:
            BadTemplateError: It refers to something that has no local name.
        """
        return _Resolver(self, {**PSEUDO_PARAMETERS, **self.parameters(), **names}).of(value)


class _Resolver:
    """Works out CloudFormation's functions as far as the template uses them."""

    def __init__(self, template: Template, names: Mapping[str, Any]) -> None:
        self._template = template
        self._names = names

    def of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.of(part) for part in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name in {"Ref", "Condition"} or name.startswith("Fn::"):
                return self._call(name, argument)
        return {key: self.of(part) for key, part in value.items()}

    def _call(self, function: str, argument: Any) -> Any:
        match function:
            case "Ref":
                return self._named(argument)
            case "Fn::GetAtt":
                return self._named(argument if isinstance(argument, str) else ".".join(argument))
            case "Fn::Sub":
                return self._substitute(argument)
            case "Fn::Join":
                return str(argument[0]).join(str(self.of(part)) for part in self.of(argument[1]))
            case "Fn::If":
                return self.of(argument[1] if self._condition(argument[0]) else argument[2])
            case _:
                return self._logical(function, argument)

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
                raise BadTemplateError(f"{function} is not understood by the local stack")

    def _condition(self, name: str) -> bool:
        return bool(self.of(self._template.document["Conditions"][name]))

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


class _Loader(yaml.SafeLoader):
    """A safe loader that also takes CloudFormation's short tags."""


def _short_tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_tag)
# A version such as 2012-10-17 is text to CloudFormation, not a date.
_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _target(reference: Any) -> str | None:
    """The logical id that a `Ref` or an `Arn` points to."""
    if not isinstance(reference, dict):
        return None if reference is None else str(reference)
    if "Ref" in reference:
        return str(reference["Ref"])
    named = reference.get("Fn::GetAtt", "")
    return str(named.split(".")[0] if isinstance(named, str) else named[0])


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _queue_source(properties: Mapping[str, Any]) -> QueueSource:
    scaling = properties.get("ScalingConfig") or {}
    return QueueSource(
        queue=_target(properties["Queue"]) or "",
        batch_size=int(properties.get("BatchSize", 10)),
        partial_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", ()),
        concurrency=_number(scaling.get("MaximumConcurrency")),
    )
