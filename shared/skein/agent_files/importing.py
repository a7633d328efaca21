"""Import of an agent from a file; templates for new agents are such files.

All values are checked before the first write. Then the tenant's tools and skills are stored, then
the agent's items, and the agent itself last. So a crash leaves no agent without its items: items of
an agent that does not exist are never shown, and repeating the import completes it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from skein.agent_files.api import AgentFile, FileDocument, FilePlan, FileTool, NeededSecret
from skein.agent_files.export import (
    by_operators,
    document_of,
    goal_of,
    plan_of,
    portable_credentials,
    skill_of,
    tool_of,
)
from skein.errors import Conflict, NotFound, Rejected
from skein.memory.memories import Memories
from skein.models.common.base import Stored
from skein.models.common.storage import Key
from skein.models.directory.agent import Agent, is_built_in
from skein.models.items.agent_item import AgentItem
from skein.models.runs.reduced_schema import reduced
from skein.models.visibility.ownership import Owner
from skein.own_tools.api import ToolChange
from skein.own_tools.models.server_tool import OF_SERVER
from skein.own_tools.models.tool import TOOL_FIELDS, OwnTool
from skein.own_tools.records import OwnTools, secrets_of_tools
from skein.planning.api import GoalChange, NewGoal
from skein.planning.goals import Goals
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.planning.plans import Plans
from skein.ports import Table
from skein.services.common.pagination import items_under
from skein.services.directory.agents import Admit, Agents
from skein.settings import Settings
from skein.workspace.api.documents import NewSkill
from skein.workspace.document_edits import check_size
from skein.workspace.documents import Documents
from skein.workspace.models.document import Document, DocumentReach, Folder
from skein.workspace.models.skill import Skill, SkillHead
from skein.workspace.skills import Skills

Kept = TypeVar("Kept", bound=AgentItem)
AnyStored = TypeVar("AnyStored", bound=Stored)
AnyNew = TypeVar("AnyNew", FileTool, NewSkill)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentImport:
    """The service that creates and changes agents from files."""

    table: Table
    settings: Settings
    agents: Agents
    tools: OwnTools
    skills: Skills
    documents: Documents
    plans: Plans
    goals: Goals
    memories: Memories

    def create(
        self, tenant: str, file: AgentFile, *, overwrite: bool = False, by: str | None = None
    ) -> Agent:
        """Create an agent with its items.

        Args:
            overwrite: Whether to change tools and skills of the tenant that differ from those in
                the file.
            by: The operator who imports the file.

        Raises:
            Conflict: The tenant has a different tool or skill of the same name, or would have too
                many.
            Unprocessable: A value is invalid; the message names the field.
        """
        agent_id = self.agents.new_id()
        self._import(tenant, agent_id, file, overwrite=overwrite, by=by)
        return self.agents.create(tenant, file.agent, agent_id=agent_id)

    def replace(
        self,
        tenant: str,
        agent_id: str,
        file: AgentFile,
        *,
        overwrite: bool = False,
        by: str | None = None,
        admit: Admit,
    ) -> Agent:
        """Give an agent the fields of a file, and add or replace the items that the file names.

        Items that the file does not name stay. Importing the same file again changes nothing.

        Args:
            admit: Raises an error if the change of the fields is not allowed.

        Raises:
            NotFound: The agent does not exist or was deleted.
            Conflict: See `create`.
            Unprocessable: See `create`.
        """
        agent = self.agents.get(tenant, agent_id)
        admit(agent, agent.with_fields(file.agent.configured))
        self._import(tenant, agent_id, file, overwrite=overwrite, by=by)
        return self.agents.replace(tenant, agent_id, file.agent, by=by, admit=admit)

    def secrets(self, tenant: str, file: AgentFile) -> tuple[NeededSecret, ...]:
        """Return the secrets that the tools of a file send."""
        return tuple(
            NeededSecret(tool=tool.name, header=used.header, secret=used.secret_arn)
            for tool in self._tools(tenant, file)
            if (used := tool.credentials) is not None
        )

    def _import(
        self, tenant: str, agent_id: str, file: AgentFile, *, overwrite: bool, by: str | None
    ) -> None:
        """Store everything in a file except the agent's fields."""
        owner = Owner(tenant=tenant, agent_id=agent_id, by_operator=True)
        tools = self._tools(tenant, file)
        self._check(owner, file, tools)
        own = self._stored([OwnTool.key_of(tenant, each.name) for each in tools], OwnTool)
        known = self._stored([Skill.key_of(tenant, each.name) for each in file.skills], Skill)
        tools_to_put = _changed("tool", tools, map(tool_of, own), overwrite=overwrite)
        skills_to_put = _changed("skill", file.skills, map(skill_of, known), overwrite=overwrite)
        for tool in tools_to_put:
            self._put_tool(tenant, tool, by)
        for skill in skills_to_put:
            head = SkillHead(**skill.model_dump(exclude={"text", "public"}))
            self.skills.put(tenant, head, skill.text, public=skill.public)
        if tools:  # the agent may enable a tool that its MCP server does not offer
            self.tools.check_names(tenant, file.agent.enabled_tools)
        for document in file.documents:
            self._put_document(owner, document)
        self._put_plans(owner, file)
        self._put_goals(owner, file.goals)
        for memory in file.memories:
            self.memories.add(
                owner,
                memory.text,
                "core",
                made_by="api",
                constitutional=memory.constitutional,
                public=memory.public,
                learned_at=memory.learned_at,
            )

    # ------------------------------------------------------------------ before the first write

    def _check(self, owner: Owner, file: AgentFile, tools: Sequence[FileTool]) -> None:
        """Check the values that the models of the file do not validate.

        Raises:
            Unprocessable: A value is invalid; the message begins with the path of the field.
        """
        of_file = {tool.name for tool in tools}
        names = file.agent.enabled_tools
        known = [name for name in names if name.partition(OF_SERVER)[0] not in of_file]
        if not all(map(is_built_in, known)):
            self.tools.check_names(owner.tenant, known)
        for tool in tools:
            with _naming("tools", tool.name):
                self.tools.check(owner.tenant, tool)
        for plan in file.plans:
            with _naming("plans", plan.name):
                self.plans.check(owner, **_values_of(plan, file.agent.time_zone))
        for document in file.documents:
            with _naming("documents", document.name):
                check_size(document.text)

    def _tools(self, tenant: str, file: AgentFile) -> tuple[FileTool, ...]:
        """Return a file's tools, each with the name of its secret in this tenant."""
        return tuple(self._in_tenant(tenant, tool) for tool in file.tools)

    def _in_tenant(self, tenant: str, tool: FileTool) -> FileTool:
        used, parameters = tool.credentials, tool.parameters
        if used is not None and ":" not in used.secret_arn:
            prefix = secrets_of_tools(self.settings, tenant)
            name = f"{prefix}{used.secret_arn.removeprefix(prefix)}"
            used = used.model_copy(update={"secret_arn": name})
        parameters = reduced(parameters) if parameters is not None else None
        return tool.model_copy(update={"credentials": used, "parameters": parameters})

    def _stored(self, keys: Sequence[Key[AnyStored]], kind: type[AnyStored]) -> list[AnyStored]:
        return [*kind.read_each(self.table.get_many(keys) if keys else {}, keys)]

    # ------------------------------------------------------------------ writing

    def _put_tool(self, tenant: str, tool: FileTool, by: str | None) -> None:
        """Create a tool, or change the tenant's tool of this name."""
        with _naming("tools", tool.name):
            try:
                self.tools.get(tenant, tool.name)
            except NotFound:
                self.tools.create(tenant, tool, rights=tool.rights, by=by)
            else:
                change = ToolChange(**{name: getattr(tool, name) for name in TOOL_FIELDS})
                self.tools.change(tenant, tool.name, change, rights=tool.rights, by=by)

    def _put_document(self, owner: Owner, new: FileDocument) -> None:
        """Create or replace an open document, unless the stored document is equal."""
        folder = Folder(tenant=owner.tenant, agent_id=owner.agent_id)
        known = Document.read(self.table, folder.key(new.name))
        if known is not None and document_of(known, version=new.version) == new:
            return
        self.documents.write(
            DocumentReach(folders=(folder,)),
            new.name,
            new.text,
            new_in=folder,
            media_type=new.media_type,
            pinned=new.pinned,
            public=new.public,
            first_version=new.version,
        )

    def _put_plans(self, owner: Owner, file: AgentFile) -> None:
        """Set a file's plans, except those that the agent already has unchanged."""
        zone = file.agent.time_zone
        known = {plan_of(plan, zone) for plan in self._live(Plan, owner)} if file.plans else set()
        for plan in file.plans:
            if _in_zone(plan, zone) not in known:
                with _naming("plans", plan.name):
                    self.plans.set(owner, **_values_of(plan, zone))

    def _put_goals(self, owner: Owner, goals: Sequence[NewGoal]) -> None:
        """Create goals, or change the operators' goals that have the same text."""
        known = {goal.text: goal for goal in self._live(Goal, owner)} if goals else {}
        for new in goals:
            goal = known.get(new.text)
            if goal is None:
                self.goals.create(owner, new)
            elif goal_of(goal) != new:
                change = GoalChange(priority=new.priority, long_term=new.long_term)
                self.goals.change(owner.reach, goal.id, change)

    def _live(self, kind: type[Kept], owner: Owner) -> list[Kept]:
        """Return the agent's live items of one kind that operators made for all chats."""
        items = items_under(self.table, owner.reach.partition, kind.PREFIX)
        return [each for each in kind.each_of(items) if by_operators(each)]


def _values_of(plan: FilePlan, zone: str) -> dict[str, Any]:
    """Return the arguments of `Plans.set` for a plan.

    Args:
        zone: The agent's time zone.
    """
    return {"time_zone": zone, **plan.model_dump(mode="json", exclude_none=True)}


def _in_zone(plan: FilePlan, zone: str) -> FilePlan:
    """Return a plan with its cron text and time zone in the form that `plan_of` returns."""
    cron = " ".join(plan.cron.split()) if plan.cron is not None else None
    own_zone = plan.time_zone if plan.time_zone != zone else None
    return plan.model_copy(update={"cron": cron, "time_zone": own_zone})


def _portable(new: AnyNew) -> AnyNew:
    """Return a tool in the form that `tool_of` returns, to compare the two; a skill as it is."""
    if not isinstance(new, FileTool) or new.credentials is None:
        return new
    return new.model_copy(update={"credentials": portable_credentials(new.credentials)})


def _changed(
    noun: str, new: Sequence[AnyNew], known: Iterable[AnyNew], *, overwrite: bool
) -> list[AnyNew]:
    """Return the tools or skills that the tenant does not have yet, or has with other values.

    Raises:
        Conflict: One differs from the tenant's of the same name, and `overwrite` is not set.
    """
    by_name = {each.name: each for each in known}
    changed = [each for each in new if by_name.get(each.name) != _portable(each)]
    taken = [each.name for each in changed if each.name in by_name]
    if taken and not overwrite:
        raise Conflict(
            f"{noun}s.{taken[0]}: this tenant has a different {noun} of this name. Import with "
            f"overwrite=true to change it for all agents, or rename the {noun} in the file"
        )
    return changed


@contextmanager
def _naming(kind: str, name: str) -> Iterator[None]:
    """If the block raises an error, put the item's path in the file before the error's message."""
    try:
        yield
    except Rejected as error:
        raise type(error)(f"{kind}.{name}: {error.message}", details=error.details) from None
