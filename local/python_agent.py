"""An agent in one Python file, which `skein run my_agent.py` serves.

    name = "Luigi"
    prompt = "You answer texts to the restaurant Luigi's. Be short."

Functions with `@tool` in the file are the agent's tools. `model` and `tools` (names of built-in
tools) are optional. The name identifies the agent: if an agent with this name exists, a start
updates it, and keeps its chats.
"""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from local.demo import CHANNELS, LINE, TENANT
from local.errors import LocalError
from local.python_tools import create_tools, imported, load_tools
from skein.bootstrap.wiring import App
from skein.errors import NotFound, Rejected, SkeinError
from skein.interface.tool import Tool
from skein.models.api.directory import AgentChange, LineChange, NewAgent, NewLine
from skein.models.directory.agent import DEFAULT_TOOLS, Agent
from skein.own_tools.records import OwnTools
from skein.services.directory.agents import Agents
from skein.services.directory.lines import Lines

EXPECTED: Mapping[str, tuple[tuple[type, ...], str]] = {
    "name": ((str,), "a text"),
    "prompt": ((str,), "a text"),
    "model": ((str,), "a text"),
    "tools": ((list, tuple), "a list of names"),
}
LOOK_SECONDS = 0.3

logger = logging.getLogger(__name__)


class BadAgentError(LocalError):
    """The file of an agent has an error."""


@dataclass(frozen=True)
class PythonAgent:
    """An agent as a Python file describes it.

    Attributes:
        path: The file.
        module: The imported file.
        new: The fields of the agent, with the names of its tools.
    """

    path: Path
    module: ModuleType
    new: NewAgent

    @property
    def name(self) -> str:
        return self.new.name

    @classmethod
    def load(cls, path: Path) -> Self:
        """Import the file of an agent.

        Raises:
            BadAgentError: There is no such file, or it lacks a prompt or has a wrong value.
            BadToolsError: The file cannot be imported.
        """
        if not path.is_file():
            raise BadAgentError(f"there is no file {path}: check its name, or write one")
        module = imported(path)
        found = _found(path, module)
        tools = [*found.get("tools", DEFAULT_TOOLS), *_functions(module)]
        try:
            new = NewAgent(
                name=found.get("name", path.stem),
                system_prompt=found["prompt"],
                model=found.get("model"),
                listed=True,
                enabled_tools=tuple(dict.fromkeys(getattr(each, "name", each) for each in tools)),
            )
        except ValidationError as error:
            [first, *_] = error.errors()
            raise BadAgentError(f"{path}: {_variable(first)}: {first['msg']}") from error
        return cls(path, module, new)

    def serve(self, app: App, data_dir: Path) -> Agent:
        """Create or update the agent and its tools, and assign the line to the agent (idempotent).

        Args:
            app: The app of the stack.
            data_dir: The data folder. The user's `my_tools.py` may be next to this folder.

        Raises:
            BadAgentError: A value of the file is invalid.
            BadToolsError: A function cannot be a tool.
        """
        load_tools(data_dir, self.module)
        create_tools(app, _functions(self.module))
        _check_names(app, self)
        try:
            agent = self._agent(app)
        except Rejected as error:
            raise BadAgentError(f"{self.path}: {error}") from error
        _give_line(app.get(Lines), agent)
        return agent

    def _agent(self, app: App) -> Agent:
        agents = app.get(Agents)
        before = next((each for each in _all(agents) if each.name == self.name), None)
        if before is None:
            return agents.create(TENANT, self.new)
        fields = {"system_prompt", "model", "enabled_tools"}
        wanted = self.new.model_dump(include=fields)
        if wanted == {field: getattr(before, field) for field in fields}:
            return before  # no new version
        return agents.change(TENANT, before.id, AgentChange(**wanted))


def _found(path: Path, module: ModuleType) -> Mapping[str, Any]:
    """Return the agent's variables that the file sets.

    Raises:
        BadAgentError: A variable has the wrong type, or the file has no prompt.
    """
    found = {key: getattr(module, key) for key in EXPECTED if hasattr(module, key)}
    for key, value in found.items():
        types, told = EXPECTED[key]
        if not isinstance(value, types):
            raise BadAgentError(f"{path}: `{key}` is a {type(value).__name__}: make it {told}")
    if not found.get("prompt", "").strip():
        raise BadAgentError(f'{path} has no agent: add a line such as prompt = "You are ..."')
    return found


def _functions(module: ModuleType) -> Mapping[str, Tool]:
    return {each.name: each for each in vars(module).values() if isinstance(each, Tool)}


def _variable(error: ErrorDetails) -> str:
    """Return the name of the file's variable that has the invalid value."""
    field = str(error["loc"][0])
    return {"system_prompt": "prompt", "enabled_tools": "tools"}.get(field, field)


def _check_names(app: App, file: PythonAgent) -> None:
    try:
        app.get(OwnTools).check_names(TENANT, file.new.enabled_tools)
    except Rejected as error:
        raise BadAgentError(f"{file.path}: tools: {error}") from error


def _all(agents: Agents) -> Iterator[Agent]:
    page = agents.list(TENANT)
    yield from page.items
    while page.next_cursor:
        page = agents.list(TENANT, cursor=page.next_cursor)
        yield from page.items


def _give_line(lines: Lines, agent: Agent) -> None:
    try:
        line = lines.get(TENANT, LINE)
    except NotFound:
        lines.create(TENANT, NewLine(phone=LINE, agent_id=agent.id, channels=CHANNELS, settings={}))
    else:
        if line.agent_id != agent.id:
            lines.change(TENANT, LINE, LineChange(agent_id=agent.id))


@contextmanager
def reloading(path: Path, data_dir: Path, app: App) -> Iterator[None]:
    """Update the agent whenever its file changes, within the block.

    If the file has an error, the error is logged and the agent stays as it was.
    """
    ends = threading.Event()
    watch = threading.Thread(
        target=_watch, args=(path, data_dir, app, ends), name="reload", daemon=True
    )
    watch.start()
    try:
        yield
    finally:
        ends.set()
        watch.join()


def _watch(path: Path, data_dir: Path, app: App, ends: threading.Event) -> None:
    seen = _changed(path)
    while not ends.wait(LOOK_SECONDS):
        now = _changed(path)
        if now in {seen, None}:
            continue  # an editor may be replacing the file
        seen = now
        try:
            PythonAgent.load(path).serve(app, data_dir)
        except (LocalError, SkeinError) as error:
            logger.warning("the agent stays as it was, until the file works: %s", error)
        else:
            logger.warning("reloaded %s", path.name)


def _changed(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
