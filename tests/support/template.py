"""The deployment's templates, read once in a process: reading takes a tenth of a second."""

from functools import cache
from types import ModuleType

from local.permissions import Permissions
from local.template import Template
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
def ops_template() -> Template:
    """Return the template of the alarms and the dashboard, with a resource for each alarm."""
    return expanded(Template.load(OPS))
