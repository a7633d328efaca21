"""Tools in Python on the local stack: the demo's, and those of a file `my_tools.py` of the user.

The file stands beside the data folder. Each of its functions with `@tool` becomes a tool of the
demo tenant, and Coach gets the new ones.
"""

import sys
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from local import demo_tools
from local.day import tools as day_tools
from local.demo import LINE, TENANT
from local.errors import LocalError
from skein.bootstrap.wiring import App
from skein.errors import NotFound, Rejected
from skein.interface.tool import Tool
from skein.models.api.directory import AgentChange
from skein.own_tools.api import NewTool
from skein.own_tools.functions import use_functions_of
from skein.own_tools.records import OwnTools
from skein.services.directory.agents import Agents
from skein.services.directory.lines import Lines

FILE = "my_tools.py"


class BadToolsError(LocalError):
    """The file of tools has an error."""


def load_tools(data_dir: Path) -> Mapping[str, Tool]:
    """Load the functions of the demo and of the user's file, if there is one, and return them.

    The function of the recorded day is installed, too: its own tenant has a tool for it.

    Raises:
        BadToolsError: The file cannot be imported.
    """
    path = data_dir.parent / FILE
    own = [_imported(path)] if path.exists() else []
    found = use_functions_of(demo_tools, *own)
    use_functions_of(day_tools, demo_tools, *own)
    return found


def make_tools(app: App, functions: Mapping[str, Tool]) -> None:
    """Create the tools of functions that are new, and give them to Coach (idempotent).

    The functions run inside the stack, so the tools keep what they get.

    Raises:
        BadToolsError: A function cannot be a tool.
    """
    tools, agents = app.get(OwnTools), app.get(Agents)
    new = [name for name in functions if not _exists(tools, name)]
    for name in new:
        given = {
            "name": name,
            "effect": "read" if functions[name].effect == "read" else "write",
            "privacy": "keeps_by_person",
            "python": {"function": name},
        }
        try:
            tools.create(TENANT, NewTool.model_validate(given))
        except Rejected as error:
            raise BadToolsError(f"{FILE}: {name}: {error}") from error
    try:
        coach = agents.get(TENANT, app.get(Lines).get(TENANT, LINE).agent_id)
    except NotFound:
        return
    if new:
        names = dict.fromkeys([*coach.enabled_tools, *new])
        agents.change(TENANT, coach.id, AgentChange(enabled_tools=tuple(names)))


def _exists(tools: OwnTools, name: str) -> bool:
    try:
        tools.get(TENANT, name)
    except NotFound:
        return False
    return True


def _imported(path: Path) -> ModuleType:
    """Import the user's file as the module `my_tools`.

    Raises:
        BadToolsError: The file cannot be imported.
    """
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BadToolsError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadToolsError(f"{path} failed with {type(error).__name__}: {error}") from error
    return module
