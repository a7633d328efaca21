"""The tools of a tenant that an agent may call. They are read together with the agent's prompt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from skein.errors import Correctable
from skein.interface.reading import Reading, SectionItems, SectionReads
from skein.interface.tool import MAX_REASON, Tool
from skein.models.chats.chat import Chat
from skein.models.common.storage import Item, Key
from skein.models.directory.agent import OWN_TOOL_NAME, Agent
from skein.models.runs.completion import ToolSpec
from skein.models.runs.step import Step
from skein.models.runs.strict_schema import closed_if_strict
from skein.models.runs.tool_arguments import json_object
from skein.models.visibility.provenance import Authors, Insiders
from skein.own_tools.functions import installed_functions
from skein.own_tools.models.breaker import ToolBreaker
from skein.own_tools.models.server_tool import OF_SERVER
from skein.own_tools.models.tool import NO_PARAMETERS, OwnTool
from skein.own_tools.schema import as_listed, fault_of_value
from skein.ports import Table
from skein.services.visibility.insiders import insiders_at, leaves_out_outsiders

MAX_OF_AGENT = 20  # tools of the tenant per agent; each prompt reads all of them


@dataclass(frozen=True)
class CallableTool:
    """A tool of a tenant, with what is needed to offer it to a model and to check arguments.

    Attributes:
        function: The installed function, for a tool in Python.
        known_breaker: The circuit breaker of its service, if it was read.
    """

    tool: OwnTool
    function: Tool | None = None
    known_breaker: ToolBreaker | None = None

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def breaker(self) -> ToolBreaker:
        """The circuit breaker of the service. If it was not read, a closed breaker is returned."""
        tenant, service = self.tool.tenant, self.tool.service
        return self.known_breaker or ToolBreaker(tenant=tenant, service=service)

    @cached_property
    def spec(self) -> ToolSpec:
        """The description and schema of the tool, for a model."""
        shown = self.function.spec if self.function is not None else None
        return ToolSpec(
            name=self.tool.name,
            description=self.tool.description or (shown.description if shown else ""),
            parameters=closed_if_strict(self.schema),
        )

    @property
    def schema(self) -> dict[str, Any]:
        if self.tool.parameters is not None:
            return self.tool.parameters
        if self.function is not None:
            return dict(self.function.spec.parameters)
        return NO_PARAMETERS

    def parse(self, arguments: str) -> dict[str, Any]:
        """Parse and validate the arguments that a model wrote; null counts as not given.

        Raises:
            Correctable: The arguments are not a JSON object, or do not fit the schema.
        """
        if self.function is not None:
            given = json_object_of(arguments)
            self.function.parse(arguments)
        else:
            given = json_object_of(arguments)
            fault = fault_of_value(self.schema, given)
            if fault is not None:
                raise Correctable(fault[:MAX_REASON])
            given = as_listed(self.schema, given)
        return given


def json_object_of(arguments: str) -> dict[str, Any]:
    """Parse the arguments of a call, and leave out the arguments that are null.

    Raises:
        Correctable: The arguments are not a JSON object.
    """
    try:
        given = json_object(arguments)
    except ValueError as error:
        raise Correctable(f"arguments: Invalid JSON: {error}"[:MAX_REASON]) from None
    return {name: value for name, value in given.items() if value is not None}


def callable_tool(tool: OwnTool) -> CallableTool | None:
    """Return a tool as a `CallableTool`, or None if it is disabled or not installed."""
    if not tool.enabled:
        return None
    if tool.python is None:
        return CallableTool(tool)
    function = installed_functions().get(tool.python.function)
    return CallableTool(tool, function) if function is not None else None


def _with_breaker(tool: CallableTool, found: Mapping[Key, Item]) -> CallableTool:
    """Return a tool with the circuit breaker of its service, if `found` contains the breaker."""
    breaker = ToolBreaker.read(found, tool.breaker.key)
    return tool if breaker is None else replace(tool, known_breaker=breaker)


def tools_named(names: Iterable[str], stored: Iterable[OwnTool]) -> tuple[OwnTool, ...]:
    """Return the tools with these names; an MCP server's tool has the server's name as a prefix."""
    wanted = set(names)
    found = (one for tool in stored for one in (tool.of_server() if tool.mcp else (tool,)))
    return tuple(tool for tool in found if tool.name in wanted)


def own_names(agent: Agent) -> tuple[str, ...]:
    """Return the names of the tenant's tools that an agent enables, at most `MAX_OF_AGENT`."""
    named = (name for name in agent.tenant_tools if OWN_TOOL_NAME.fullmatch(name))
    return tuple(named)[:MAX_OF_AGENT]


def keys_of_tools(agent: Agent) -> list[Key]:
    """Return the keys of the tools that an agent enables, and of their circuit breakers."""
    names = own_names(agent)
    services = dict.fromkeys(name.partition(OF_SERVER)[0] for name in names)
    breakers = [ToolBreaker.key_of(agent.tenant, service) for service in services]
    return [*keys_named(agent.tenant, names), *breakers]


def keys_named(tenant: str, names: Iterable[str]) -> list[Key]:
    """Return the keys under which the tools with these names are stored.

    The tools of an MCP server are stored with the server, so they share the key of the server.
    """
    stored = dict.fromkeys(name.partition(OF_SERVER)[0] for name in names)
    return [OwnTool.key_of(tenant, name) for name in stored]


@dataclass(frozen=True, slots=True)
class OwnToolItems(SectionItems):
    """The tenant's tools that the agent may call, by name.

    The tools are not a section of the prompt: the model is offered them in the request's list of
    tools. They are read together with the sections' items, so that they cost no extra call.
    """

    tools: tuple[CallableTool, ...] = ()
    in_reads = ("tenant_tools",)
    optional = True

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of the tools, once the agent has been read."""
        return keys_of_tools(read.agent) if read.agent is not None else ()

    @classmethod
    def found(cls, read: SectionReads) -> "OwnToolItems":
        """Keep the tools that are enabled and installed."""
        return cls.of_agent(read.agent, read.found) if read.agent is not None else cls()

    @classmethod
    def of_agent(cls, agent: Agent, found: Mapping[Key, Item]) -> "OwnToolItems":
        """Return the enabled and installed tools of an agent that `found` contains."""
        names = own_names(agent)
        items = (found[key] for key in keys_named(agent.tenant, names) if key in found)
        tools = map(callable_tool, tools_named(names, OwnTool.each_of(items)))
        known = [_with_breaker(tool, found) for tool in tools if tool is not None]
        return cls(tuple(sorted(known, key=lambda each: each.name)))

    def authors(self) -> Iterable[Authors]:
        """Return no authors, because tools are written by operators."""
        return ()

    @property
    def by_name(self) -> Mapping[str, CallableTool]:
        return {each.name: each for each in self.tools}

    @property
    def write(self) -> bool:
        """Whether calls of at least one of the tools can change something."""
        return any(each.tool.effect == "write" for each in self.tools)


def longest_call(step: Step, reading: Reading) -> int:
    """Return the longest timeout, in seconds, of a step's calls to the tenant's tools, or 0."""
    own = reading.of(OwnToolItems).by_name
    named = {call.name for call in step.tool_calls}
    return max((own[name].tool.timeout_seconds for name in named & own.keys()), default=0)


def insiders_for(table: Table, agent: Agent, chat: Chat) -> Insiders:
    """Return the insiders of a chat: the people for whom the agent works in this chat.

    `Insiders.alone` says whether prompts leave out the words of all other people. Costs one
    database request if the agent has tools of the tenant.
    """
    keys = keys_named(agent.tenant, own_names(agent))
    tools = OwnToolItems.of_agent(agent, table.get_many(keys) if keys else {})
    alone = leaves_out_outsiders(agent, chat.readers, writes=tools.write)
    return insiders_at(chat, alone=alone)
