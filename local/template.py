"""Reads `template.yaml`, so that the local stack runs the deployed functions and queues.

CloudFormation's short tags (`!Ref`, `!Sub` ...) become their long form (`{"Ref": ...}`).
`Template.resolve` replaces references by the local names of resources.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from local import folders
from local.errors import BadTemplateError
from local.intrinsics import Resolver

ROOT = folders.ROOT
TEMPLATE = ROOT / "template.yaml"
REGISTER = "ErasureRegister"  # the logical id of the table of the erasure register
NUMBERS = "AssignedNumbers"  # the logical id of the table of the numbers of tenants
SERVICES_KEY = "ServicesSecret"  # the logical id of the key of the secrets of webhook services


@dataclass(frozen=True)
class Queue:
    """SQS queue.

    Attributes:
        logical_id: The queue's logical id in the template.
        delay: The default delay of messages, in seconds.
        visibility: The visibility timeout, in seconds.
        max_receives: The number of receives before a message is dead-lettered; None for no limit.
        dead_letters: The logical id of the queue's dead-letter queue, if there is one.
    """

    logical_id: str
    delay: int
    visibility: int
    max_receives: int | None
    dead_letters: str | None


@dataclass(frozen=True)
class Route:
    """Method and path of a route of the HTTP API, and whether the route requires a caller."""

    method: str
    path: str
    authorized: bool


@dataclass(frozen=True)
class QueueSource:
    """Event source of a function: a queue and its batch settings."""

    queue: str
    batch_size: int
    partial_failures: bool
    concurrency: int | None


@dataclass(frozen=True)
class StreamSource:
    """Event source of a function: the table's stream, with its filters and batch settings.

    Attributes:
        batch_size: The maximum number of records in a batch.
        partial_failures: Whether the function reports which records failed.
        bisects: Whether a batch that failed as a whole is split in two.
        max_retries: How often a batch is retried; None for no limit.
        max_age: The age in seconds at which a record is no longer retried; None for no limit.
        failures: The logical id of the queue for batches that were given up, if there is one.
        patterns: The filters, as JSON texts. A record passes if one of the filters matches.
    """

    batch_size: int
    partial_failures: bool
    bisects: bool
    max_retries: int | None
    max_age: int | None
    failures: str | None
    patterns: tuple[str, ...]


@dataclass(frozen=True)
class Schedule:
    """Schedule of a function: a `rate(...)` expression.

    If `input` is set, it replaces the event.
    """

    name: str
    expression: str
    input: str | None


@dataclass(frozen=True)
class Function:
    """Lambda function with its code, limits and event sources."""

    logical_id: str
    code: Path
    handler: str
    timeout: int
    memory: int
    environment: Mapping[str, Any]
    routes: tuple[Route, ...]
    queues: tuple[QueueSource, ...]
    schedules: tuple[Schedule, ...]
    streams: tuple[StreamSource, ...] = ()


class Template:
    """Parsed CloudFormation template.

    Args:
        document: The template as data, with short tags in their long form.
        root: The folder to which the template's paths are relative.
    """

    def __init__(self, document: Mapping[str, Any], root: Path = ROOT) -> None:
        self.document = document
        self.root = root

    @classmethod
    def load(cls, path: Path = TEMPLATE) -> "Template":
        """Read a template from a file.

        Raises:
            BadTemplateError: The file is missing, is not valid YAML, or contains no mapping.
        """
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
        except (OSError, yaml.YAMLError) as error:
            raise BadTemplateError(f"{path.name} cannot be read: {error}") from error
        if not isinstance(document, dict):
            raise BadTemplateError(f"{path.name} is not a template")
        return cls(document, path.parent)

    def resources(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Iterate over the logical ids and properties of all resources of a type."""
        for logical_id, resource in self.document.get("Resources", {}).items():
            if resource.get("Type") == kind:
                yield logical_id, resource.get("Properties") or {}

    def parameters(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the value of each parameter: the given value, the default, or an empty string."""
        declared = self.document.get("Parameters", {})
        return {name: (given or {}).get(name, p.get("Default", "")) for name, p in declared.items()}

    @cached_property
    def table(self) -> tuple[str, dict[str, Any]]:
        """The table's logical id, and the arguments of `create_table` except the name.

        The vector index is left out, because DynamoDB Local does not support it.

        Raises:
            BadTemplateError: The template does not declare exactly one table besides those of the
                erasure register and the assigned numbers.
        """
        logical_id, properties = self._table
        indexes = [
            {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
            for index in properties.get("GlobalSecondaryIndexes", ())
        ]
        schemas = [properties["KeySchema"], *(index["KeySchema"] for index in indexes)]
        keys = {key["AttributeName"] for schema in schemas for key in schema}
        return logical_id, {
            "AttributeDefinitions": [
                definition
                for definition in properties["AttributeDefinitions"]
                if definition["AttributeName"] in keys
            ],
            "KeySchema": properties["KeySchema"],
            "GlobalSecondaryIndexes": indexes,
            "BillingMode": "PAY_PER_REQUEST",
            **_stream(properties),
        }

    @cached_property
    def register(self) -> dict[str, Any]:
        """The arguments of `create_table` for the erasure register, except the name."""
        properties = dict(self.resources("AWS::DynamoDB::Table")).get(REGISTER)
        if properties is None:
            raise BadTemplateError(f"the template has no table {REGISTER}")
        names = ("AttributeDefinitions", "KeySchema", "BillingMode")
        return {name: properties[name] for name in names}

    @cached_property
    def vectors(self) -> dict[str, Any]:
        """The additional arguments of `create_table` for an engine that has vector indexes.

        These arguments replace arguments of `table` with the same names.
        """
        _, properties = self._table
        names = ("AttributeDefinitions", "VectorIndexes")
        return {name: properties[name] for name in names if properties.get(name)}

    @cached_property
    def _table(self) -> tuple[str, dict[str, Any]]:
        every = self.resources("AWS::DynamoDB::Table")
        others = {REGISTER, NUMBERS}
        tables = [(name, properties) for name, properties in every if name not in others]
        if len(tables) != 1:
            raise BadTemplateError(f"the template must define one table, not {len(tables)}")
        logical_id, properties = tables[0]
        return logical_id, self.resolve(properties, {})

    @cached_property
    def queues(self) -> tuple[Queue, ...]:
        """All queues, including dead-letter queues."""
        return tuple(
            Queue(
                logical_id=logical_id,
                delay=int(properties.get("DelaySeconds", 0)),
                visibility=int(properties.get("VisibilityTimeout", 30)),
                max_receives=_number(properties.get("RedrivePolicy", {}).get("maxReceiveCount")),
                dead_letters=target(properties.get("RedrivePolicy", {}).get("deadLetterTargetArn")),
            )
            for logical_id, properties in self.resources("AWS::SQS::Queue")
        )

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        return tuple(
            self._function(logical_id, properties)
            for logical_id, properties in self.resources("AWS::Serverless::Function")
        )

    @cached_property
    def authorizer(self) -> tuple[Function, int]:
        """The HTTP API's authorizer function, and for how many seconds its results are cached.

        Raises:
            BadTemplateError: The template does not have exactly one authorizer.
        """
        every = [
            each
            for _, api in self.resources("AWS::Serverless::HttpApi")
            for each in ((api.get("Auth") or {}).get("Authorizers") or {}).values()
        ]
        if len(every) != 1:
            raise BadTemplateError(f"the template must define one authorizer, not {len(every)}")
        functions = {function.logical_id: function for function in self.functions}
        logical_id = str(every[0]["FunctionArn"]["Ref"]).removesuffix(".Alias")
        return functions[logical_id], int(every[0]["Identity"]["ReauthorizeEvery"])

    @cached_property
    def socket_routes(self) -> dict[str, Function]:
        """The functions of the WebSocket API by route key, such as `$connect`.

        Raises:
            BadTemplateError: A route leads to no function.
        """
        integrations = dict(self.resources("AWS::ApiGatewayV2::Integration"))
        functions = {function.logical_id: function for function in self.functions}
        routes = {}
        for logical_id, route in self.resources("AWS::ApiGatewayV2::Route"):
            integration = integrations.get(_variable(route["Target"]) or "", {})
            function = functions.get(_variable(integration.get("IntegrationUri")) or "")
            if function is None:
                raise BadTemplateError(f"{logical_id} leads to no function")
            routes[str(route["RouteKey"])] = function
        return routes

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
            queues=tuple(
                _queue_source(self._with_parameters(e["Properties"]))
                for _, e in events
                if e["Type"] == "SQS"
            ),
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
            streams=tuple(
                _stream_source(e["Properties"]) for _, e in events if e["Type"] == "DynamoDB"
            ),
        )

    def _route(self, properties: Mapping[str, Any]) -> Route:
        auth = properties.get("Auth") or {}
        chosen = auth.get("Authorizer", self._default_authorizer(properties))
        return Route(
            method=str(properties.get("Method", "ANY")).upper(),
            path=str(properties.get("Path", "$default")),
            authorized=chosen not in {None, "NONE"},
        )

    def _with_parameters(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Resolve the parameters in the properties of a queue's event source."""
        return {
            name: value if name == "Queue" else self.resolve(value, {})
            for name, value in properties.items()
        }

    def _default_authorizer(self, properties: Mapping[str, Any]) -> str | None:
        api = self.document.get("Globals", {}).get("HttpApi", {})
        named = target(properties.get("ApiId"))
        for logical_id, own in self.resources("AWS::Serverless::HttpApi"):
            if named in {None, logical_id}:
                api = {**api, **own}
        default = (api.get("Auth") or {}).get("DefaultAuthorizer")
        return None if default is None else str(default)

    def resolve(self, value: Any, names: Mapping[str, Any]) -> Any:
        """Replace the references in a value by the names of local resources.

        Args:
            value: Any part of the template.
            names: The values of references: of `Ref` by logical id, and of attributes by
                `Id.Attribute`. Parameters and pseudo parameters that are not in it have their
                default values.

        Raises:
            BadTemplateError: A reference has no local value, or a function is not supported.
        """
        conditions = self.document.get("Conditions", {})
        mappings = self.document.get("Mappings", {})
        return Resolver({**self.parameters(), **names}, conditions, mappings).of(value)


# The loader in C is ten times as fast. PyYAML's wheels contain it; builds without libyaml do not.
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Safe):  # type: ignore[misc]
    """Safe YAML loader that accepts CloudFormation's short tags."""


def _short_tag(loader: Any, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_tag)
# CloudFormation reads a version such as 2012-10-17 as text, not as a date.
_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def target(reference: Any) -> str | None:
    """Return the logical id that a `Ref` or an `Arn` refers to."""
    if not isinstance(reference, dict):
        return None if reference is None else str(reference)
    if "Ref" in reference:
        return str(reference["Ref"])
    named = reference.get("Fn::GetAtt", "")
    return str(named.split(".")[0] if isinstance(named, str) else named[0])


def _stream(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the argument of `create_table` for a table's stream, if the table has one."""
    stream = properties.get("StreamSpecification")
    return {"StreamSpecification": {"StreamEnabled": True, **stream}} if stream else {}


def _variable(text: Any) -> str | None:
    """Return the logical id in the last variable of a `Sub`. Pseudo parameters are skipped."""
    template = text.get("Fn::Sub", "") if isinstance(text, dict) else ""
    template, values = template if isinstance(template, list) else (template, {})
    found = re.findall(r"\$\{(\w+)\}", template)
    if not found:
        return None
    named = target(values[found[-1]]) if found[-1] in values else str(found[-1])
    return named.split(".")[0] if named else None


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _queue_source(properties: Mapping[str, Any]) -> QueueSource:
    scaling = properties.get("ScalingConfig") or {}
    return QueueSource(
        queue=target(properties["Queue"]) or "",
        batch_size=int(properties.get("BatchSize", 10)),
        partial_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", ()),
        concurrency=_number(scaling.get("MaximumConcurrency")),
    )


def _stream_source(properties: Mapping[str, Any]) -> StreamSource:
    destination = properties.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    return StreamSource(
        batch_size=int(properties.get("BatchSize", 100)),
        partial_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", ()),
        bisects=bool(properties.get("BisectBatchOnFunctionError", False)),
        max_retries=_limit(properties.get("MaximumRetryAttempts")),
        max_age=_limit(properties.get("MaximumRecordAgeInSeconds")),
        failures=target(destination),
        patterns=tuple(
            str(one["Pattern"]) for one in properties.get("FilterCriteria", {}).get("Filters", ())
        ),
    )


def _limit(value: Any) -> int | None:
    """Return a limit of a stream's event source; None for -1, which stands for no limit."""
    return None if value is None or int(value) < 0 else int(value)
