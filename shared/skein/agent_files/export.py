"""Export of an agent as a file: what operators wrote for it, without data of people or chats."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from skein.agent_files.api import AgentFile, FileDocument, FileMemory, FilePlan, FileTool
from skein.agent_files.yaml_text import MAX_FILE_BYTES, written
from skein.errors import Conflict
from skein.memory.models.memory import Memory
from skein.models.api.directory import WholeAgent
from skein.models.common.storage import Key
from skein.models.directory.agent import CONFIGURED, Agent
from skein.models.visibility.ownership import DerivedItem
from skein.models.visibility.provenance import NO_AUTHORS, NOTHING
from skein.own_tools.items import own_names
from skein.own_tools.models.server_tool import OF_SERVER
from skein.own_tools.models.tool import TOOL_FIELDS, Credentials, OwnTool
from skein.planning.api import NewGoal
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.ports import Clock, Table
from skein.services.common.pagination import items_under
from skein.services.directory.agents import Agents
from skein.workspace.api.documents import NewSkill
from skein.workspace.models.document import Document, Folder
from skein.workspace.models.skill import CORE, Skill, SkillCatalog

ROWS = 10  # per query; a document can be 256 KiB
SKILL_TOOLS = frozenset({"read_skill", "create_thread", "switch_thread", "update_thread"})
AWS_SUFFIX = re.compile(r"-[A-Za-z0-9]{6}$")  # which Secrets Manager adds in an ARN

T = TypeVar("T", bound=DerivedItem)


class ExportedAgent(NamedTuple):
    """An agent as a file.

    Attributes:
        left_out: The names of operators' documents that the file omits, because runs of the agent
            have changed them.
    """

    file: AgentFile
    left_out: tuple[str, ...]

    @property
    def text(self) -> str:
        """The file as YAML.

        Raises:
            Conflict: The file would be too large to import.
        """
        text = "".join([*_comments(self.left_out), written(values_of(self.file))])
        size = len(text.encode())
        if size > MAX_FILE_BYTES:
            raise Conflict(
                f"the file would have {size:,} bytes; at most {MAX_FILE_BYTES:,} can be imported. "
                "Remove documents or skills first"
            )
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExport:
    """The service that exports agents as files."""

    table: Table
    clock: Clock
    agents: Agents

    def export(self, tenant: str, agent_id: str) -> ExportedAgent:
        """Export an agent.

        Items are exported if only operators have written them. Items that a run has made or
        changed, and items of a chat, can contain words of people.

        Raises:
            NotFound: The agent does not exist or was deleted.
        """
        agent = self.agents.get(tenant, agent_id)
        folder = Folder(tenant=tenant, agent_id=agent_id)
        pk, now = folder.partition, self.clock.now()
        documents = [each for each in self._under(Document, pk, Document.PREFIX) if _given(each)]
        plans = [each for each in self._under(Plan, pk, Plan.PREFIX) if by_operators(each)]
        goals = [each for each in self._under(Goal, pk, Goal.PREFIX) if by_operators(each)]
        [prefix, *_] = Memory.prefixes(kind="core", live=True, ended=False)
        memories = [
            each
            for each in self._under(Memory, pk, prefix)
            if by_operators(each) and each.kind == "core" and each.made_by == "api"
        ]
        file = AgentFile(
            agent=_whole(agent),
            plans=tuple(plan_of(each, agent.time_zone) for each in plans if _coming(each, now)),
            goals=tuple(map(goal_of, sorted(goals, key=lambda one: (one.created_at, one.id)))),
            memories=tuple(map(_memory, sorted(memories, key=lambda one: one.age))),
            documents=tuple(document_of(each) for each in documents if by_operators(each)),
            skills=tuple(map(skill_of, self._skills(agent))),
            tools=tuple(map(tool_of, self._tools(agent))),
        )
        left_out = tuple(each.name for each in documents if not by_operators(each))
        return ExportedAgent(file, left_out)

    def _under(self, kind: type[T], pk: str, prefix: str) -> Iterator[T]:
        return kind.each_of(items_under(self.table, pk, prefix, rows=ROWS))

    def _skills(self, agent: Agent) -> list[Skill]:
        """Return the tenant's own skills that prompts of the agent may show, by name."""
        catalog = SkillCatalog.read(self.table, SkillCatalog.key_of(agent.tenant))
        names = [head.name for head in catalog.heads] if catalog is not None else []
        if not SKILL_TOOLS & set(agent.enabled_tools):
            names = [name for name in names if name == CORE]
        keys: list[Key[Skill]] = [Skill.key_of(agent.tenant, name) for name in names]
        return Skill.read_each(self.table.get_many(keys) if keys else {}, keys)

    def _tools(self, agent: Agent) -> list[OwnTool]:
        """Return the tenant's tools and MCP servers that the agent enables, in the same order."""
        names = dict.fromkeys(name.partition(OF_SERVER)[0] for name in own_names(agent))
        keys: list[Key[OwnTool]] = [OwnTool.key_of(agent.tenant, name) for name in names]
        return OwnTool.read_each(self.table.get_many(keys) if keys else {}, keys)


def values_of(file: AgentFile) -> dict[str, Any]:
    """Return a file's values for YAML: all fields of the agent; other items omit default values.

    The agent's fields are all included, because another version of Skein may have other defaults
    for them.
    """
    others = file.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"agent"})
    agent = file.agent.model_dump(mode="json", exclude_none=True, exclude={"settings"})
    fields = {name: agent[name] for name in CONFIGURED if name in agent}
    settings = {"settings": dict(file.agent.settings.values)} if file.agent.settings.values else {}
    about = {"about": others.pop("about")} if "about" in others else {}
    kinds = {kind: [_named(each) for each in items] for kind, items in others.items()}
    return {**about, "agent": {**fields, **settings}, **kinds}


def plan_of(plan: Plan, zone: str) -> FilePlan:
    """Return a plan in the form of an agent's file.

    If the plan runs only once, the file has the time at which it will run.

    Args:
        zone: The agent's time zone.
    """
    own_zone = plan.time_zone if plan.time_zone != zone else None
    once = plan.next_at if plan.cron is None else None
    return FilePlan(
        name=plan.name,
        instruction=plan.instruction,
        template=plan.template,
        cron=plan.cron,
        scheduled_at=once,
        time_zone=own_zone,
    )


def goal_of(goal: Goal) -> NewGoal:
    """Return a goal in the form of an agent's file."""
    return NewGoal(text=goal.text, priority=goal.priority, long_term=goal.long_term)


def document_of(document: Document, *, version: int | None = None) -> FileDocument:
    """Return a document in the form of an agent's file.

    Args:
        version: The version in the file; None for the document's own version.
    """
    values = {name: getattr(document, name) for name in ("name", "media_type", "text", "public")}
    shown = {"version": version or document.version, "global": document.pinned}
    return FileDocument.model_validate({**values, **shown})


def skill_of(skill: Skill) -> NewSkill:
    """Return a skill in the form of an agent's file."""
    return NewSkill(**dict(skill.head), text=skill.text, public=skill.public)


def tool_of(tool: OwnTool) -> FileTool:
    """Return a tool in the form of an agent's file: with its secret's name in place of the ARN."""
    values = {name: getattr(tool, name) for name in ("name", *TOOL_FIELDS)}
    if tool.credentials is not None:
        values["credentials"] = portable_credentials(tool.credentials)
    return FileTool(**values, rights=tool.rights)


def portable_credentials(used: Credentials) -> Credentials:
    """Return credentials with the name of the secret, without the account, stack and tenant."""
    name = used.secret_arn.rpartition(":secret:")[2].split("/", 2)[-1]
    short = AWS_SUFFIX.sub("", name) if used.secret_arn.startswith("arn:") else name
    return used.model_copy(update={"secret_arn": short})


def _whole(agent: Agent) -> WholeAgent:
    values = {name: getattr(agent, name) for name in CONFIGURED}
    return WholeAgent.model_validate({**values, "settings": dict(agent.settings)})


def _memory(memory: Memory) -> FileMemory:
    learned_at = memory.learned_at or memory.created_at
    return FileMemory(
        text=memory.text,
        constitutional=memory.constitutional,
        public=memory.public,
        learned_at=learned_at,
    )


def _coming(plan: Plan, now: datetime) -> bool:
    """Return whether a plan will run: it is recurring, or its only time is in the future."""
    return plan.cron is not None or (plan.next_at is not None and plan.next_at > now)


def _given(item: DerivedItem) -> bool:
    """Return whether an operator created an item, and the item is for all chats of the agent."""
    return item.by_operator and item.audience.open and item.home is None


def by_operators(item: DerivedItem) -> bool:
    """Return whether an item is for all chats of the agent, and only operators have written it."""
    made_by_run = item.source_run_id is not None or item.made_from != NOTHING
    return _given(item) and not made_by_run and item.authors == NO_AUTHORS


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """Put the name of an item first."""
    return {name: values[name] for name in ("name", *values) if name in values}


def _comments(left_out: Sequence[str]) -> Iterator[str]:
    yield "# An agent of Skein, without ids and secrets.\n"
    if left_out:
        yield "# Left out, because the agent has changed these documents:\n"
        yield from (f"#   {name}\n" for name in left_out)
