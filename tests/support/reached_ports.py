"""The ports that each function may reach, by the types of the services that it may build."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import get_args, get_origin

from skein.bootstrap.ports import APP, port_types
from skein.bootstrap.wiring import _is_service, _needs
from skein.interface.extensions import EFFECTS
from tests.support.template import deployed_template

GETTERS = frozenset({"service", "get"})


@cache
def reached_ports() -> dict[str, frozenset[str]]:
    """Return the ports by the logical id of the function."""
    return {
        function.logical_id: frozenset(_ports(function.handler.rpartition(".")[0]))
        for function in deployed_template().functions
    }


def _ports(name: str) -> Iterator[str]:
    module = import_module(name)
    routes = [import_module(f"routes.{each}") for each in getattr(module, "MODULES", ())]
    left = [kind for each in (module, *routes) for kind in _named(each)]
    seen: set[type] = set()
    while left:
        kind = left.pop()
        if kind in seen:
            continue
        seen.add(kind)
        for hint in _needs(kind).values():
            wanted = get_args(hint)[-1] if get_origin(hint) is Callable else hint
            port = port_types().get(wanted)
            if port == APP:  # it takes any service that it names, and the effects of answers
                left += [*_named(sys.modules[kind.__module__]), *_effects()]
            elif port is not None:
                yield port
            else:
                left.append(wanted)


def _named(module: ModuleType) -> list[type]:
    """Return the services that the code of a module asks an app for by name."""
    calls = (
        node
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and len(node.args) == 1
    )
    found = (
        getattr(module, call.args[0].id, None)
        for call in calls
        if isinstance(call.args[0], ast.Name)
        and getattr(call.func, "id", getattr(call.func, "attr", "")) in GETTERS
    )
    return [kind for kind in found if isinstance(kind, type) and _is_service(kind)]


def _effects() -> list[type]:
    paths = (path.rpartition(".") for path in EFFECTS.values())
    return [getattr(import_module(module), name) for module, _, name in paths]
