"""What an MCP server offers, compared with what an operator approved."""

from dataclasses import dataclass
from typing import Literal

from skein.own_tools.models.server_tool import OF_SERVER, ServerTool, ServerToolRights
from skein.own_tools.models.tool import OwnTool
from skein.own_tools.schema import fault_of_schema

MAX_NAME = 64

OfferState = Literal["new", "approved", "changed", "gone"]
"""`changed`: calls are refused until an operator approves the change."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that a server offers.

    Attributes:
        name: The name by which agents list it.
        listed: The tool, as a model would be shown it.
        rights: What an operator said of it; the default if it is not approved.
        state: How it relates to what an operator approved.
        fault: Why models could not call it; None if they can.
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
        """Return a tool of a server, with what an operator approved of it."""
        state: OfferState = "new"
        if gone:
            state = "gone"
        elif approved is not None:
            state = "approved" if approved == listed else "changed"
        name = f"{server.name}{OF_SERVER}{listed.short_name}"
        rights = server.rights_of(listed)
        return cls(name, listed, rights, state, fault_of_server_tool(server.name, listed))


def fault_of_server_tool(server: str, listed: ServerTool) -> str | None:
    """Return why models could not call a tool of a server, if so."""
    if len(f"{server}{OF_SERVER}{listed.short_name}") > MAX_NAME:
        return f"its name and the server's have more than {MAX_NAME - len(OF_SERVER)} characters"
    if not listed.description:
        return "it has no description"
    return fault_of_schema(listed.parameters)
