"""Tools in Python on the local stack: the demo's tools, and those in the user's `my_tools.py`.

`my_tools.py` is next to the data folder. Each of its functions with `@tool` becomes a tool of the
demo tenant, and each new tool is enabled for the agent Coach.
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

    The function of the recorded day is loaded, too, but not returned: only the day's own tenant has
    a tool that calls it.

    Args:
        data_dir: The data folder. The user's `my_tools.py` may be next to this folder.
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
    """Create tools for new functions, and enable them for Coach (idempotent).

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
    """Create tools for functions, and return the names of new tools (idempotent).

    The functions run inside the stack, so their tools have the privacy `keeps_by_person`. If a
    function that read now writes, or the other way round, its tool is changed, too.

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

    The file is imported under a name that hides no module of Skein or of a library, such as
    `tools`.

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
    """Wrap the function of a tool, so that its errors are also shown to the local user."""

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
    """Return the file that raised an error, with the line if it is known."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}, line {error.lineno}"
    lines = [each.lineno for each in extract_tb(error.__traceback__) if each.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)
