"""The tools of a tenant: create, change, list, restore and delete them, and rotate their secrets.

A tool that cannot work is rejected when it is written, with the name of the field.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skein.errors import (
    ConditionFailed,
    Conflict,
    NotFound,
    ToolError,
    Transient,
    Unprocessable,
)
from skein.models.common.storage import Delete, Missing, Put, Query, Write, at_version
from skein.models.directory.agent import Agent, is_built_in
from skein.models.runs.reduced_schema import reduced
from skein.own_tools.functions import installed_functions
from skein.own_tools.http_requests import check_address
from skein.own_tools.items import MAX_OF_AGENT, keys_named, own_names, tools_named
from skein.own_tools.mcp_servers import McpServers
from skein.own_tools.models.breaker import ToolBreaker
from skein.own_tools.models.server_tool import OF_SERVER, ServerTool, ServerToolRights
from skein.own_tools.models.tool import (
    MAX_TOOL_VERSIONS,
    MAX_TOOLS,
    NO_PARAMETERS,
    PLACEHOLDER,
    TOOL_FIELDS,
    OwnTool,
    OwnToolVersion,
    ToolFields,
    tool_versions_partition,
    tools_partition,
)
from skein.own_tools.offered import OfferedTool, fault_of_server_tool
from skein.own_tools.schema import fault_of_schema
from skein.own_tools.signed_context import context_of_operator, new_nonce, secret_of
from skein.ports import Clock, Ids, Secrets, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition
from skein.services.config.services_key import services_key
from skein.settings import Settings

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.own_tools.api import NewTool, ToolChange

LISTING_SECONDS = 15.0
NO_RIGHTS: Mapping[str, ServerToolRights] = {}
IN_URL = frozenset({"string", "integer", "number", "boolean"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTools:
    """The service of a tenant's tools."""

    table: Table
    clock: Clock
    keys: Secrets
    ids: Ids
    settings: Settings
    servers: Callable[[], McpServers]

    def create(
        self,
        tenant: str,
        new: "NewTool",
        *,
        rights: Mapping[str, ServerToolRights] = NO_RIGHTS,
        by: str | None = None,
    ) -> OwnTool:
        """Create a tool with a new secret, which is shown once.

        Args:
            rights: The operator's classification of an MCP server's tools, by digest.
                Classifications of tools that the server does not offer now are ignored.
            by: The operator who creates the tool.

        Raises:
            Conflict: The tenant has a tool of this name, or too many tools.
            Unprocessable: A field's value is invalid.
        """
        tool = self.check(tenant, new, by=by)
        approved = self._approved(tool, (), by)
        kept = {each.digest: rights[each.digest] for each in approved if each.digest in rights}
        tool = tool.model_copy(update={"approved": approved, "rights": kept})
        shown = self._with_secret(tool)
        page = self.table.query(Query.under(tools_partition(tenant), OwnTool.PREFIX))
        if len(page.items) >= MAX_TOOLS:
            raise Conflict(f"a tenant has at most {MAX_TOOLS} tools")
        version = OwnToolVersion.of(tool)
        try:
            self.table.transact(
                [
                    Put(tool.key, tool.attributes(), Missing()),
                    Put(version.key, version.attributes()),
                ]
            )
        except ConditionFailed:
            raise Conflict("name: there is a tool of this name") from None
        return shown

    def check(self, tenant: str, new: "NewTool", *, by: str | None = None) -> OwnTool:
        """Check a new tool, and return it without storing it.

        Raises:
            Unprocessable: A field's value is invalid.
        """
        now = self.clock.now()
        tool = OwnTool(
            tenant=tenant,
            nonce=new_nonce(),
            created_at=now,
            changed_at=now,
            changed_by=by,
            **_reduced({name: getattr(new, name) for name in ("name", *TOOL_FIELDS)}),
        )
        self._check(tool)
        return tool

    def get(self, tenant: str, name: str) -> OwnTool:
        """Return a tool.

        Raises:
            NotFound: There is no such tool.
        """
        tool = OwnTool.read(self.table, OwnTool.key_of(tenant, name))
        if tool is None:
            raise NotFound("tool not found")
        return tool

    def find(self, tenant: str, name: str) -> OwnTool:
        """Return a tool by the name that agents use, including tools of an MCP server.

        Raises:
            NotFound: There is no such tool.
        """
        stored = self.get(tenant, name.partition(OF_SERVER)[0])
        found = tools_named((name,), (stored,))
        if not found:
            raise NotFound("tool not found")
        return found[0]

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[OwnTool]:
        """List a page of a tenant's tools, by name.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            tools_partition(tenant),
            (OwnTool.PREFIX,),
            OwnTool.from_item,
            limit=limit,
            cursor=cursor,
        )

    def change(
        self,
        tenant: str,
        name: str,
        change: "ToolChange",
        *,
        rights: Mapping[str, ServerToolRights] = NO_RIGHTS,
        by: str | None = None,
    ) -> OwnTool:
        """Change some of a tool's fields, which creates a new version. The secret stays the same.

        Args:
            rights: New classifications of an MCP server's tools, by digest. Classifications of
                tools that are not approved are ignored.
            by: The operator who changes the tool.

        Raises:
            NotFound: There is no such tool.
            Unprocessable: A field's value is invalid.
        """

        def attempt() -> OwnTool:
            tool, given = self.get(tenant, name), change.given
            if rights:
                given = {**given, "rights": {**tool.rights, **rights}}
            return self._revise(tool, given, by) if given else tool

        return optimistic(self.clock, attempt)

    def rotate(self, tenant: str, name: str) -> OwnTool:
        """Rotate a tool's secret; the old secret is invalid at once.

        Raises:
            NotFound: There is no such tool.
        """

        def attempt() -> OwnTool:
            tool, write = revise(self.get(tenant, name), {"nonce": new_nonce()})
            version = OwnToolVersion.of(tool)
            self.table.transact([write, Put(version.key, version.attributes())])
            return tool

        return self._with_secret(optimistic(self.clock, attempt))

    def versions(
        self, tenant: str, name: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[OwnToolVersion]:
        """List a page of a tool's newest 50 versions, newest first.

        Raises:
            NotFound: There is no such tool.
            Invalid: The cursor does not belong to this list.
        """
        self.get(tenant, name)
        return list_partition(
            self.table,
            tool_versions_partition(tenant, name),
            (OwnToolVersion.PREFIX,),
            OwnToolVersion.from_item,
            limit=limit,
            cursor=cursor,
        )

    def restore(self, tenant: str, name: str, version: int, *, by: str | None = None) -> OwnTool:
        """Give a tool the fields of an earlier version, as a new version.

        Restoring the current values changes nothing.

        Raises:
            NotFound: The tool or the version does not exist.
            Unprocessable: A field's value is no longer valid.
        """

        def attempt() -> OwnTool:
            tool = self.get(tenant, name)
            own_tool_version = OwnToolVersion.read(
                self.table, OwnToolVersion.key_of(tenant, name, version)
            )
            if own_tool_version is None:
                raise NotFound("version not found")
            fields = ToolFields.model_validate(own_tool_version.fields)
            given = {each: getattr(fields, each) for each in TOOL_FIELDS}
            if all(getattr(tool, each) == value for each, value in given.items()):
                return tool
            return self._revise(tool, given, by, restored_from=version)

        return optimistic(self.clock, attempt)

    def delete(self, tenant: str, name: str) -> None:
        """Delete a tool and its versions. Agents that enable the tool no longer have it.

        Raises:
            NotFound: There is no such tool.
        """

        def attempt() -> None:
            tool = self.get(tenant, name)
            newest = range(max(1, tool.version - MAX_TOOL_VERSIONS), tool.version + 1)
            versions = [Delete(OwnToolVersion.key_of(tenant, name, each)) for each in newest]
            breaker = Delete(ToolBreaker.key_of(tenant, name))
            self.table.transact([Delete(tool.key, at_version(tool.version)), breaker, *versions])

        optimistic(self.clock, attempt)

    def check_names(self, tenant: str, names: Sequence[str]) -> None:
        """Check that the tools with these names exist, before an agent enables them.

        Raises:
            Unprocessable: A tool does not exist, or the agent would have too many tools of the
                tenant.
        """
        own = [name for name in names if not is_built_in(name)]
        if len(own) > MAX_OF_AGENT:
            raise Unprocessable(
                f"enabled_tools: at most {MAX_OF_AGENT} of your own tools are allowed"
            )
        known = {each.name for each in self._named(tenant, own)}
        unknown = next((name for name in own if name not in known), None)
        if unknown is not None:
            raise Unprocessable(f"enabled_tools: there is no tool {unknown!r}")

    def of_agent(self, agent: Agent) -> tuple[OwnTool, ...]:
        """Return the tenant's tools that an agent enables."""
        return self._named(agent.tenant, own_names(agent))

    def offered(self, tenant: str, name: str, *, by: str) -> Sequence[OfferedTool]:
        """Ask an MCP server for its tools, and compare each with what an operator approved.

        Raises:
            NotFound: There is no such tool.
            Unprocessable: The tool is not an MCP server, or the server does not answer.
        """
        tool = self.get(tenant, name)
        if tool.mcp is None:
            raise Unprocessable("mcp: this tool isn't an MCP server")
        approved = {each.name: each for each in tool.approved}
        now = self._of_server(tool, by)
        gone = [each for each in tool.approved if each.name not in now]
        found = [OfferedTool.of(tool, each, approved.get(each.name)) for each in now.values()]
        return (*found, *(OfferedTool.of(tool, each, None, gone=True) for each in gone))

    def approve(
        self,
        tenant: str,
        name: str,
        listed: str,
        digest: str,
        *,
        rights: ServerToolRights,
        by: str,
    ) -> OwnTool:
        """Approve a tool of an MCP server as it was shown, so that agents may call it (idempotent).

        Args:
            listed: The name of the server's tool.
            digest: The hash of what the operator was shown.
            rights: The operator's classification of the tool.

        Raises:
            NotFound: There is no such tool.
            Conflict: The server changed the tool after it was shown.
            Unprocessable: `name` is not an MCP server, the server does not answer, or models could
                not call the server's tool.
        """
        shown = {each.listed.name: each for each in self.offered(tenant, name, by=by)}.get(listed)
        if shown is None or shown.state == "gone":
            raise NotFound("the server has no such tool")
        if shown.listed.digest != digest:
            raise Conflict("the server has changed the tool since it was shown")

        def attempt() -> OwnTool:
            tool = self.get(tenant, name)
            known = shown.listed in tool.approved and tool.rights_of(shown.listed) == rights
            if tool.mcp is None or known:
                return tool
            others = tuple(each for each in tool.approved if each.name != listed)
            names = tuple(dict.fromkeys((*tool.mcp.tools, listed)))
            given = {
                "mcp": tool.mcp.model_copy(update={"tools": names}),
                "rights": {**tool.rights, shown.listed.digest: rights},
            }
            return self._revise(tool, given, by, approved=(*others, shown.listed))

        return optimistic(self.clock, attempt)

    def _named(self, tenant: str, names: Sequence[str]) -> tuple[OwnTool, ...]:
        keys = keys_named(tenant, names)
        found = self.table.get_many(keys) if keys else {}
        return tools_named(names, OwnTool.read_each(found))

    def _with_secret(self, tool: OwnTool) -> OwnTool:
        key = services_key(self.keys, self.settings)
        return tool.model_copy(update={"secret": secret_of(tool.nonce, key=key)})

    def _revise(
        self,
        tool: OwnTool,
        given: Mapping[str, Any],
        by: str | None,
        *,
        restored_from: int | None = None,
        approved: tuple[ServerTool, ...] | None = None,
    ) -> OwnTool:
        """Store a tool's new values with the new version, and drop the oldest version."""
        signed = {**_reduced(given), "changed_at": self.clock.now(), "changed_by": by}
        changed = OwnTool.model_validate(dict(tool) | signed)
        self._check(changed)
        moved = tool.mcp is None or changed.mcp is None or tool.mcp.url != changed.mcp.url
        known = approved if approved is not None else () if moved else tool.approved
        signed["approved"] = self._approved(changed, known, by)
        kept = {each.digest for each in known if each in signed["approved"]}
        signed["rights"] = {
            digest: rights for digest, rights in changed.rights.items() if digest in kept
        }
        revised, write = revise(tool, signed)
        made = OwnToolVersion.of(revised, restored_from=restored_from)
        writes: list[Write] = [write, Put(made.key, made.attributes())]
        if revised.version > MAX_TOOL_VERSIONS:
            oldest = revised.version - MAX_TOOL_VERSIONS
            writes.append(Delete(OwnToolVersion.key_of(tool.tenant, tool.name, oldest)))
        self.table.transact(writes)
        return revised

    def _approved(
        self, tool: OwnTool, known: Sequence[ServerTool], by: str | None
    ) -> tuple[ServerTool, ...]:
        """Return the tools of an MCP server that agents may call.

        A tool that was approved before is returned as it was approved. For other tools, the
        server's current offer is returned.

        Raises:
            Unprocessable: The server has no such tool, or models could not call it.
        """
        names = tool.mcp.tools if tool.mcp is not None else ()
        approved = {each.name: each for each in known}
        if not approved.keys() >= set(names):
            approved = {**self._of_server(tool, by), **approved}
        taken: set[str] = set()
        for name in names:
            if name not in approved:
                raise Unprocessable(f"mcp.tools: the server has no tool {name!r}")
            fault = fault_of_server_tool(tool.name, approved[name])
            if fault is not None or approved[name].short_name in taken:
                raise Unprocessable(f"mcp.tools: {name}: {fault or 'two tools have this name'}")
            taken.add(approved[name].short_name)
        return tuple(approved[name] for name in names)

    def _of_server(self, tool: OwnTool, by: str | None) -> Mapping[str, ServerTool]:
        """Ask an MCP server for its tools.

        Raises:
            Unprocessable: The server does not answer.
        """
        context = context_of_operator(tool.tenant, by, f"list:{self.ids.ulid()}")
        try:
            return self.servers().offered(tool, context, seconds=LISTING_SECONDS)
        except (ToolError, Transient) as error:
            raise Unprocessable(f"mcp.url: can't reach the server: {error}") from None

    # ------------------------------------------------------------------ what cannot work

    def _check(self, tool: OwnTool) -> None:
        """Check that a tool can work.

        Raises:
            Unprocessable: The tool cannot work. The message begins with the name of the faulty
                field.
        """
        if is_built_in(tool.name):
            raise Unprocessable("name: a built-in tool has this name")
        if OF_SERVER in tool.name:
            raise Unprocessable(
                "name: two underscores in a row are reserved for tools of an MCP server"
            )
        if sum(each is not None for each in (tool.http, tool.python, tool.mcp)) != 1:
            raise Unprocessable("http: give exactly one of http, python and mcp")
        if tool.parameters is not None:
            fault = fault_of_schema(tool.parameters)
            if fault is not None:
                raise Unprocessable(fault)
        if tool.python is not None and tool.credentials is not None:
            raise Unprocessable("credentials: not supported for functions")
        if tool.asks == "operator" and tool.from_private == "ask":
            raise Unprocessable(
                "from_private: a call waits for one yes, of a person or an operator"
            )
        if tool.python is not None and tool.python.function not in installed_functions():
            raise Unprocessable("python.function: the deployment has no such function")
        if tool.http is not None and not tool.description:
            raise Unprocessable("description: it is required")
        self._check_http(tool)
        self._check_mcp(tool)
        self._check_secret(tool)

    def _check_http(self, tool: OwnTool) -> None:
        """Check the address and the arguments in it.

        Raises:
            Unprocessable: The address is not allowed, or does not fit the parameters.
        """
        if tool.http is None:
            return
        check_address(tool.http.url, "http.url", self.settings)
        if "{" in PLACEHOLDER.sub("", tool.http.url) or "}" in PLACEHOLDER.sub("", tool.http.url):
            raise Unprocessable("http.url: unmatched brace")
        schema = tool.parameters or NO_PARAMETERS
        for name in tool.http.in_url:
            part = schema["properties"].get(name, {})
            if part.get("type") not in IN_URL or name not in schema.get("required", ()):
                raise Unprocessable(
                    f"http.url: {name[:64]!r} must be a required parameter that is no list and no "
                    "object"
                )

    def _check_mcp(self, tool: OwnTool) -> None:
        """Check the address of an MCP server, and that no field for a single tool is set.

        Raises:
            Unprocessable: A field cannot be combined with `mcp`.
        """
        if tool.mcp is None:
            return
        check_address(tool.mcp.url, "mcp.url", self.settings)
        if PLACEHOLDER.search(tool.mcp.url) is not None:
            raise Unprocessable("mcp.url: must not contain {arguments}")
        if tool.parameters is not None or tool.description:
            field = "parameters" if tool.parameters is not None else "description"
            raise Unprocessable(
                f"{field}: not allowed for an MCP server, because the server describes its "
                "own tools"
            )
        if tool.effect == "write" or tool.idempotent:
            field = "effect" if tool.effect == "write" else "idempotent"
            raise Unprocessable(f"{field}: set this when you approve each tool of the server")

    def _check_secret(self, tool: OwnTool) -> None:
        """Check that the tool's secret belongs to its tenant; tenants must not use each other's.

        Raises:
            Unprocessable: The secret belongs to another tenant.
        """
        if tool.credentials is None:
            return
        prefix = secrets_of_tools(self.settings, tool.tenant)
        name = tool.credentials.secret_arn.rpartition(":secret:")[2]
        if not name.startswith(prefix) or len(name) == len(prefix):
            raise Unprocessable(f"credentials.secret_arn: the secret's name must begin {prefix}")


def secrets_of_tools(settings: Settings, tenant: str) -> str:
    """Return the prefix that the names of all secrets of a tenant's tools begin with."""
    return f"{settings.stack_name}-tools/{tenant}/"


def _reduced(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's fields, with its schema reduced to the keywords that all providers accept."""
    parameters = given.get("parameters")
    return {**given} if parameters is None else {**given, "parameters": reduced(parameters)}
