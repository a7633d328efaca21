"""Tools in Python on the local stack: the demo's tools, and those in the user's `my_tools.py`.

The file is next to the data folder. Each of its functions with `@tool` becomes a tool of the demo
tenant, and the agent Coach gets each new tool.
"""

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from importlib.util import module_from_spec, spec_from_file_location
from inspect import signature
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from local import demo_tools
from local.day import tools as day_tools
from local.demo import LINE, TENANT
from local.errors import LocalError
from skein.bootstrap.wiring import App
from skein.errors import NotFound, Rejected, SkeinError
from skein.interface.tool import Tool
from skein.models.api.directory import AgentChange
from skein.own_tools.api import NewTool, ToolChange
from skein.own_tools.functions import use_functions_of
from skein.own_tools.records import OwnTools
from skein.services.directory.agents import Agents
from skein.services.directory.lines import Lines

FILE = "my_tools.py"
OWN = "skein_file_"  # the beginning of the names of modules of the user
ARGUMENT_TYPES = (str, int, float, bool, "str", "int", "float", "bool")

logger = logging.getLogger(__name__)


class BadToolsError(LocalError):
    """The file of tools has an error."""


def load_tools(data_dir: Path, *files: ModuleType) -> Mapping[str, Tool]:
    """Load the functions of the demo and of the user's files, and return them.

    The recorded day's function is loaded, too, but not returned: only the tenant of that day has a
    tool for it.

    Args:
        data_dir: The data folder; `my_tools.py` may be next to it.
        files: Further modules of the user.

    Raises:
        BadToolsError: The file cannot be imported.
    """
    path = data_dir.parent / FILE
    own = [*files, *([imported(path)] if path.exists() else [])]
    found = use_functions_of(demo_tools, *own)
    use_functions_of(day_tools, demo_tools, *own)
    return found


def make_tools(app: App, functions: Mapping[str, Tool]) -> None:
    """Create the tools of functions that are new, and give them to Coach (idempotent).

    Raises:
        BadToolsError: A function cannot be a tool.
    """
    new = create_tools(app, functions)
    agents = app.get(Agents)
    try:
        coach = agents.get(TENANT, app.get(Lines).get(TENANT, LINE).agent_id)
    except NotFound:
        return
    if new:
        names = dict.fromkeys([*coach.enabled_tools, *new])
        agents.change(TENANT, coach.id, AgentChange(enabled_tools=tuple(names)))


def create_tools(app: App, functions: Mapping[str, Tool]) -> Sequence[str]:
    """Create the tools of functions, and return the names of the new ones (idempotent).

    The functions run inside the stack, so their tools have the privacy `keeps_by_person`. If a
    function has changed from one that reads to one that writes, or back, its tool is changed, too.

    Raises:
        BadToolsError: A function cannot be a tool.
    """
    tools = app.get(OwnTools)
    new = []
    for name, function in functions.items():
        effect = "read" if function.effect == "read" else "write"
        given = {"privacy": "keeps_by_person", "python": {"function": name}, "effect": effect}
        try:
            if not _exists(tools, name):
                tools.create(TENANT, NewTool.model_validate({"name": name, **given}))
                new.append(name)
            elif tools.get(TENANT, name).effect != effect:
                tools.change(TENANT, name, ToolChange.model_validate({"effect": effect}))
        except Rejected as error:
            raise BadToolsError(f"{name}: {error}") from error
    return new


def _exists(tools: OwnTools, name: str) -> bool:
    try:
        tools.get(TENANT, name)
    except NotFound:
        return False
    return True


def imported(path: Path) -> ModuleType:
    """Import a file of the user, which may import modules beside it.

    The module's name cannot hide a module of Skein or of a library, such as `tools`.

    Raises:
        BadToolsError: The file cannot be imported.
    """
    name = f"{OWN}{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadToolsError(f"{path} is not a Python file: give it a name that ends with .py")
    module = sys.modules[name] = module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise BadToolsError(
            f"{type(error).__name__} in {_place(error, path)}: {_text(error)}: correct the file"
        ) from error
    for name, found in list(vars(module).items()):
        if isinstance(found, Tool):
            _check_first_parameter(found, path)
            setattr(module, name, replace(found, function=_reporting(found, path)))
    return module


def _check_first_parameter(tool: Tool, path: Path) -> None:
    first = next(iter(signature(tool.function).parameters.values()))
    if first.annotation in ARGUMENT_TYPES:
        raise BadToolsError(
            f"{path}: the first parameter of {tool.name} must be the call: "
            f"write {tool.name}(call: CallContext, {first})"
        )


def _reporting(tool: Tool, path: Path) -> Callable[..., str]:
    """Return the function of a tool, wrapped to show its errors to the local user, too."""

    @wraps(tool.function)
    def reporting(*given: Any, **arguments: Any) -> str:
        try:
            return tool.function(*given, **arguments)
        except SkeinError:
            raise
        except Exception as error:
            logger.warning(
                "%s raised %s in %s: correct the function; the agent only knows that it failed",
                tool.name,
                f"{type(error).__name__}: {error}",
                _place(error, path),
            )
            raise

    return reporting


def _text(error: BaseException) -> str:
    return str(error.msg) if isinstance(error, SyntaxError) else str(error)


def _place(error: BaseException, path: Path) -> str:
    """Return a file and, if it is known, the line of the file that raised an error."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}, line {error.lineno}"
    lines = [each.lineno for each in extract_tb(error.__traceback__) if each.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)
