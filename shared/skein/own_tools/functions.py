"""Functions in Python that a deployment installs as tools, by the entry point `skein.tools`.

An entry point names a module or a single function. The functions have the same decorator `@tool` as
the built-in tools. The first parameter of each function is the `CallContext`.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType, ModuleType

from skein.interface.tool import Tool

ENTRY_POINT = "skein.tools"
_LOCAL: dict[str, Tool] = {}  # functions of the local stack's file `my_tools.py`

logger = logging.getLogger(__name__)


def installed_functions() -> Mapping[str, Tool]:
    return MappingProxyType({**_of_entry_points(), **_LOCAL})


def use_functions_of(*modules: ModuleType) -> Mapping[str, Tool]:
    """Install the functions of modules as tools, in place of those of an earlier call.

    Returns:
        The functions, by name.
    """
    _LOCAL.clear()
    _LOCAL.update({each.name: each for one in modules for each in _functions_in(one)})
    return dict(_LOCAL)


@cache
def _of_entry_points() -> Mapping[str, Tool]:
    found: dict[str, Tool] = {}
    for entry in entry_points(group=ENTRY_POINT):
        try:
            loaded = entry.load()
        except Exception:
            # A faulty package must not stop the agents that do not need it.
            logger.exception("failed to load tools", extra={"entry_point": entry.name})
        else:
            found |= {each.name: each for each in _functions_in(loaded)}
    return found


def _functions_in(loaded: object) -> Iterator[Tool]:
    if isinstance(loaded, Tool):
        yield loaded
    elif isinstance(loaded, ModuleType):
        yield from (each for each in vars(loaded).values() if isinstance(each, Tool))
