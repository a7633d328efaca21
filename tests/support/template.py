"""The deployment's templates, read once in a process: reading takes a tenth of a second."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from local.permissions import Permissions
from local.template import Template
from skein.correlation import invocation
from skein.models.outbox.jobs import QueueName
from tools.deployment.families import OPS, expanded


@cache
def deployed_template() -> Template:
    """Return the template; a test that changes the template loads one of its own."""
    return Template.load()


@cache
def permissions() -> Permissions:
    """Return what each function may do."""
    return Permissions.of(deployed_template())


@cache
def _names() -> dict[str, str]:
    functions = deployed_template().functions
    return {
        function.handler.removesuffix(".handler"): function.logical_id for function in functions
    }


def function_name(handlers: ModuleType) -> str:
    """Return the name of the function whose handler a module has."""
    return _names()[handlers.__name__]


@cache
def worker_of(queue: QueueName) -> str:
    """Return the name of the function that handles the jobs of a queue."""
    source = permissions().queues[queue]
    return next(
        function.logical_id
        for function in deployed_template().functions
        if source in {each.queue for each in function.queues}
    )


@dataclass(frozen=True)
class _Invocation:
    """An invocation of a function that a test plays."""

    function_name: str
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:played"
    aws_request_id: str = "52fdfc07-2182-154f-163f-5f0f9a621d72"


def running(function: str) -> AbstractContextManager[None]:
    """Run a block as a function of the template, with the permissions of its role."""
    return invocation(_Invocation(function))


def deployed_stack(**parameters: str) -> Mapping[str, Any]:
    """Return the document of one stack of the template; an expansion takes a tenth of a second."""
    return _stack_with(tuple(sorted(parameters.items())))


@cache
def _stack_with(parameters: tuple[tuple[str, str], ...]) -> Mapping[str, Any]:
    # boto3 and the translator take half a second to import.
    from tools.deployment.expansion import stack  # noqa: PLC0415

    return stack(deployed_template(), **dict(parameters))


@cache
def ops_template() -> Template:
    """Return the template of the alarms and the dashboard, with a resource for each alarm."""
    return expanded(Template.load(OPS))
