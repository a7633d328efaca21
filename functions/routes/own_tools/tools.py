"""Routes of a tenant's tools, for operators (function `admin_api`)."""

from operator import attrgetter
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import Limit, PageCursor
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.models.directory.agent import OwnToolName
from skein.own_tools.api import (
    NewTool,
    OfferedToolList,
    OfferedToolResource,
    ServerToolApproval,
    ToolChange,
    ToolPage,
    ToolResource,
    ToolTrial,
    ToolVersionPage,
    ToolWithSecret,
    TrialResource,
)
from skein.own_tools.models.tool import LAST_TOOL_VERSION, OwnTool
from skein.own_tools.records import OwnTools
from skein.own_tools.trials import ToolTrials
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("tools", "tool", made="name", role="support", writes="owner")

Named = Annotated[OwnToolName, Path(description="The name of a tool.")]
VersionNumber = Annotated[int, Path(ge=1, le=LAST_TOOL_VERSION, description="A version's number.")]


@router.post("/v1/tools", "Create a custom tool", 409)
def create_tool(new: NewTool) -> ToolWithSecret:
    """The secret is shown only once. It signs the context of each call.

    Agents that list the tool's name in `enabled_tools` may call it.
    """
    caller = router.caller
    tools = service(OwnTools)
    tool = router.once(
        OwnTool,
        lambda: tools.create(caller.tenant, new, by=caller.user_id),
        lambda name: tools.rotate(caller.tenant, name),
        id_of=attrgetter("name"),
    )
    return ToolWithSecret.of(tool)


@router.get("/v1/tools", "List custom tools by name")
def list_tools(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> ToolPage:
    """Built-in tools are not listed."""
    return ToolPage.of(service(OwnTools).list(router.caller.tenant, limit=limit, cursor=cursor))


@router.get("/v1/tools/<name>", "Get a tool")
def get_tool(name: Named) -> ToolResource:
    """The response contains no secret."""
    return ToolResource.of(service(OwnTools).get(router.caller.tenant, name))


@router.patch("/v1/tools/<name>", "Update a tool")
def change_tool(name: Named, change: ToolChange) -> ToolResource:
    """The change makes a new version.

    A call that waits for an approval is made only if its version is still the newest.
    """
    caller = router.caller
    tools = service(OwnTools)
    return ToolResource.of(tools.change(caller.tenant, name, change, by=caller.user_id))


@router.delete("/v1/tools/<name>", "Delete a tool")
def delete_tool(name: Named) -> Response[None]:
    """Agents that list the name no longer have the tool."""
    service(OwnTools).delete(router.caller.tenant, name)
    return no_content()


@router.post("/v1/tools/<name>/secret", "Rotate a tool's secret", status=200)
def rotate_tool_secret(name: Named) -> ToolWithSecret:
    """The new secret is shown only once. The old one becomes invalid."""
    return ToolWithSecret.of(service(OwnTools).rotate(router.caller.tenant, name))


@router.post("/v1/tools/<name>/try", "Test a tool", status=200)
def try_tool(name: Named, body: ToolTrial) -> TrialResource:
    """Calls the service once with these arguments, as the operator. A writing tool does write."""
    caller = router.caller
    made = service(ToolTrials).make(caller.tenant, name, body.arguments, by=caller.user_id)
    return TrialResource.of(made)


@router.get("/v1/tools/<name>/offered", "List the tools of an MCP server", role="owner")
def list_offered_tools(name: Named) -> OfferedToolList:
    """Skein asks the server when you call this.

    If the server has changed a tool, agents can't call the tool until it is approved again.
    """
    caller = router.caller
    found = service(OwnTools).offered(caller.tenant, name, by=caller.user_id)
    return OfferedToolList(items=tuple(map(OfferedToolResource.of, found)), next_cursor=None)


@router.post("/v1/tools/<name>/offered", "Approve a tool of an MCP server", 409, status=200)
def approve_offered_tool(name: Named, body: ServerToolApproval) -> ToolResource:
    """Agents may call the tool as it was shown. A new approval replaces the earlier one.

    Unless the approval says otherwise, Skein assumes that the tool writes and is not idempotent.
    """
    caller, tools = router.caller, service(OwnTools)
    made = tools.approve(
        caller.tenant, name, body.tool, body.digest, rights=body.rights, by=caller.user_id
    )
    return ToolResource.of(made)


@router.get("/v1/tools/<name>/versions", "List a tool's versions, newest first")
def list_tool_versions(
    name: Named, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> ToolVersionPage:
    """The newest 50 versions are kept, with all fields, the author and the time."""
    page = service(OwnTools).versions(router.caller.tenant, name, limit=limit, cursor=cursor)
    return ToolVersionPage.of(page)


@router.post(
    "/v1/tools/<name>/versions/<version>/restore", "Restore a version of a tool", status=200
)
def restore_tool_version(name: Named, version: VersionNumber) -> ToolResource:
    """The restored values become a new version. Repeating the call changes nothing."""
    caller = router.caller
    tools = service(OwnTools)
    return ToolResource.of(tools.restore(caller.tenant, name, version, by=caller.user_id))
