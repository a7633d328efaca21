"""The tools that an MCP server offers, compared with the tools that an operator approved."""

from dataclasses import dataclass
from typing import Literal

from skein.own_tools.models.server_tool import OF_SERVER, ServerTool, ServerToolRights
from skein.own_tools.models.tool import OwnTool
from skein.own_tools.schema import fault_of_schema

MAX_NAME = 64

OfferState = Literal["new", "approved", "changed", "gone"]
"""The state of a tool; calls of a `changed` tool are refused until an operator approves it."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that a server offers.

    Attributes:
        name: The name under which agents list the tool.
        listed: The tool, in the form that a model is shown.
        rights: The operator's classification of the tool; the default if the tool is not approved.
        state: How the tool compares with what an operator approved.
        fault: Why models cannot call the tool; None if they can.
    """

    name: str
    listed: ServerTool
    rights: ServerToolRights
    state: OfferState
    fault: str | None

    @classmethod
    def of(
        cls, server: OwnTool, listed: ServerTool, approved: ServerTool | None, *, gone: bool = False
    ) -> "OfferedTool":
        """Return a tool of a server, compared with what an operator approved."""
        state: OfferState = "new"
        if gone:
            state = "gone"
        elif approved is not None:
            state = "approved" if approved == listed else "changed"
        name = f"{server.name}{OF_SERVER}{listed.short_name}"
        rights = server.rights_of(listed)
        return cls(name, listed, rights, state, fault_of_server_tool(server.name, listed))


def fault_of_server_tool(server: str, listed: ServerTool) -> str | None:
    """Return why models cannot call a tool of a server; None if they can."""
    if len(f"{server}{OF_SERVER}{listed.short_name}") > MAX_NAME:
        return f"its name and the server's have more than {MAX_NAME - len(OF_SERVER)} characters"
    if not listed.description:
        return "it has no description"
    return fault_of_schema(listed.parameters)
