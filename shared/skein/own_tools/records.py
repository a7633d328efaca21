"""The tools of a tenant: create, change, list, restore and delete them, and rotate their secrets.

A tool that cannot work is refused when it is written, with the name of the field.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skein.errors import ConditionFailed, Conflict, NotFound, Unprocessable
from skein.models.common.storage import Delete, Missing, Put, Query, Write, at_version
from skein.models.directory.agent import Agent, is_built_in
from skein.own_tools.functions import installed_functions
from skein.own_tools.items import MAX_OF_AGENT, own_names
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
from skein.own_tools.schema import fault_of_schema
from skein.own_tools.signed_context import new_nonce, secret_of
from skein.ports import Clock, Secrets, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition
from skein.services.config.services_key import services_key
from skein.settings import Settings

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.own_tools.api import NewTool, ToolChange

IN_URL = frozenset({"string", "integer", "number", "boolean"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTools:
    """The service of a tenant's tools."""

    table: Table
    clock: Clock
    keys: Secrets
    settings: Settings

    def create(self, tenant: str, new: "NewTool", *, by: str | None = None) -> OwnTool:
        """Create a tool with a new secret, which is shown once.

        Args:
            by: The operator who creates it.

        Raises:
            Conflict: The tenant has a tool of this name, or too many.
            Unprocessable: A field's value cannot work.
        """
        now = self.clock.now()
        tool = OwnTool(
            tenant=tenant,
            nonce=new_nonce(),
            created_at=now,
            changed_at=now,
            changed_by=by,
            **{name: getattr(new, name) for name in ("name", *TOOL_FIELDS)},
        )
        self._check(tool)
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

    def get(self, tenant: str, name: str) -> OwnTool:
        """Return a tool.

        Raises:
            NotFound: There is no such tool.
        """
        item = self.table.get(OwnTool.key_of(tenant, name))
        if item is None:
            raise NotFound("tool not found")
        return OwnTool.from_item(item)

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
        self, tenant: str, name: str, change: "ToolChange", *, by: str | None = None
    ) -> OwnTool:
        """Change some of a tool's fields, as a new version; its secret stays.

        Raises:
            NotFound: There is no such tool.
            Unprocessable: A field's value cannot work.
        """

        def attempt() -> OwnTool:
            tool = self.get(tenant, name)
            return self._revise(tool, change.given, by) if change.given else tool

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

        Restoring the values that the tool has changes nothing.

        Raises:
            NotFound: The tool or the version does not exist.
            Unprocessable: A field's value cannot work any more.
        """

        def attempt() -> OwnTool:
            tool = self.get(tenant, name)
            item = self.table.get(OwnToolVersion.key_of(tenant, name, version))
            if item is None:
                raise NotFound("version not found")
            fields = ToolFields.model_validate(OwnToolVersion.from_item(item).fields)
            given = {each: getattr(fields, each) for each in TOOL_FIELDS}
            if all(getattr(tool, each) == value for each, value in given.items()):
                return tool
            return self._revise(tool, given, by, restored_from=version)

        return optimistic(self.clock, attempt)

    def delete(self, tenant: str, name: str) -> None:
        """Delete a tool with its versions; agents that enable it no longer have it.

        Raises:
            NotFound: There is no such tool.
        """

        def attempt() -> None:
            tool = self.get(tenant, name)
            newest = range(max(1, tool.version - MAX_TOOL_VERSIONS), tool.version + 1)
            versions = [Delete(OwnToolVersion.key_of(tenant, name, each)) for each in newest]
            self.table.transact([Delete(tool.key, at_version(tool.version)), *versions])

        optimistic(self.clock, attempt)

    def check_names(self, tenant: str, names: Sequence[str]) -> None:
        """Check that all tools that an agent is to have exist.

        Raises:
            Unprocessable: One does not exist, or there are too many of the tenant's.
        """
        own = [name for name in names if not is_built_in(name)]
        if len(own) > MAX_OF_AGENT:
            raise Unprocessable(f"enabled_tools: at most {MAX_OF_AGENT} may be the tenant's own")
        found = self.table.get_many([OwnTool.key_of(tenant, name) for name in own]) if own else {}
        unknown = next((n for n in own if OwnTool.key_of(tenant, n) not in found), None)
        if unknown is not None:
            raise Unprocessable(f"enabled_tools: there is no tool {unknown!r}")

    def of_agent(self, agent: Agent) -> tuple[OwnTool, ...]:
        """Return the tenant's tools that an agent enables."""
        names = own_names(agent)
        keys = [OwnTool.key_of(agent.tenant, name) for name in names]
        found = self.table.get_many(keys) if keys else {}
        return tuple(OwnTool.from_item(item) for item in found.values())

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
    ) -> OwnTool:
        """Store a tool's new values with the new version, and drop the oldest version."""
        signed = {**given, "changed_at": self.clock.now(), "changed_by": by}
        revised, write = revise(tool, signed)
        self._check(revised)
        made = OwnToolVersion.of(revised, restored_from=restored_from)
        writes: list[Write] = [write, Put(made.key, made.attributes())]
        if revised.version > MAX_TOOL_VERSIONS:
            oldest = revised.version - MAX_TOOL_VERSIONS
            writes.append(Delete(OwnToolVersion.key_of(tool.tenant, tool.name, oldest)))
        self.table.transact(writes)
        return revised

    # ------------------------------------------------------------------ what cannot work

    def _check(self, tool: OwnTool) -> None:
        """Check that a tool can work.

        Raises:
            Unprocessable: The message begins with the name of the field.
        """
        if is_built_in(tool.name):
            raise Unprocessable("name: a built-in tool has this name")
        if (tool.http is None) == (tool.python is None):
            raise Unprocessable("http: a tool has either http or python")
        if tool.parameters is not None:
            fault = fault_of_schema(tool.parameters)
            if fault is not None:
                raise Unprocessable(fault)
        if tool.http is None and tool.credentials is not None:
            raise Unprocessable("credentials: only a tool with http has credentials")
        if tool.asks == "operator" and tool.from_private == "ask":
            raise Unprocessable(
                "from_private: a call waits for one yes, of a person or an operator"
            )
        if tool.python is not None and tool.python.function not in installed_functions():
            raise Unprocessable("python.function: the deployment has no such function")
        if tool.python is None and not tool.description:
            raise Unprocessable("description: it is required")
        self._check_http(tool)
        self._check_secret(tool)

    def _check_http(self, tool: OwnTool) -> None:
        """Check the address and the arguments in it.

        Raises:
            Unprocessable: The request cannot work.
        """
        if tool.http is None:
            return
        parts = urlsplit(tool.http.url)
        if parts.scheme != "https" and not self.settings.local:
            raise Unprocessable("http.url: it must begin with https")
        if self.settings.tool_hosts and parts.hostname not in self.settings.tool_hosts:
            raise Unprocessable("http.url: this deployment does not allow this host")
        if "{" in PLACEHOLDER.sub("", tool.http.url) or "}" in PLACEHOLDER.sub("", tool.http.url):
            raise Unprocessable("http.url: a brace has no partner")
        schema = tool.parameters or NO_PARAMETERS
        for name in tool.http.in_url:
            part = schema["properties"].get(name, {})
            if part.get("type") not in IN_URL or name not in schema.get("required", ()):
                raise Unprocessable(
                    f"http.url: {name[:64]!r} must be a required parameter that is no list and no "
                    "object"
                )

    def _check_secret(self, tool: OwnTool) -> None:
        """Check that a secret is one of this tenant's, so that no tool sends another's away.

        Raises:
            Unprocessable: The name of the secret is another's.
        """
        if tool.credentials is None:
            return
        prefix = f"{self.settings.stack_name}-tools/{tool.tenant}/"
        name = tool.credentials.secret_arn.rpartition(":secret:")[2]
        if not name.startswith(prefix) or len(name) == len(prefix):
            raise Unprocessable(f"credentials.secret_arn: the secret's name must begin {prefix}")
