"""An agent: an AI with a name, a system prompt, a model and tools."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, Field, StringConstraints

from skein.models.common.base import (
    Identifier,
    Instant,
    Name,
    NamedMember,
    NamedModel,
    Stored,
    Tenant,
    TimeZone,
    key_part,
)
from skein.models.common.free_fields import ProfileFieldNames
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.storage import META, Item, Key, SortKeyPrefix
from skein.models.config.overrides import NO_OVERRIDES, Overrides
from skein.models.quotas.prices import ModelName

ReplyMode = Literal["tools", "text"]
HistoryFormat = Literal["timeline", "roles"]
Outsiders = Literal["none", "quoted"]
WhoMayAdd = Literal["anyone", "operators"]
Gate = Literal["off", "warn", "block"]
SystemPrompt = Annotated[str, Field(max_length=50_000)]

ToolName = Literal[
    "send_message",
    "ask_choice",
    "ask_a_person",
    "ask_someone",
    "find_time",
    "enter_chat",
    "read_messages",
    "recall",
    "borrow_context",
    "get_my_runs",
    "stop_run",
    "resume_run",
    "set_goal",
    "end_goal",
    "set_plan",
    "cancel_plan",
    "save_memory",
    "forget_memory",
    "search_memories",
    "forget",
    "update_profile",
    "list_documents",
    "read_document",
    "write_document",
    "append_document",
    "edit_document",
    "delete_document",
    "read_skill",
    "search_knowledge",
    "create_thread",
    "switch_thread",
    "update_thread",
    "end_thread",
    "end_run",
]
"""The names of all built-in tools; `skein.agent.tools` has a tool for each name."""

OWN_TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
OwnToolName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""The name of one of a tenant's own tools (`skein.own_tools`)."""

DEFAULT_TOOLS: tuple[ToolName, ...] = (
    "send_message",
    "read_messages",
    "recall",
    "save_memory",
    "set_plan",
    "cancel_plan",
    "ask_choice",
    "ask_a_person",
    "end_run",
)

PROFILE_FIELDS: tuple[str, ...] = ("goals", "skill_level", "recent_topics", "preferences")
"""The default of `Agent.profile_fields`."""

PROFILE_MEANINGS: dict[str, str] = {
    "goals": "what they want to reach",
    "skill_level": "how well they know the subject",
    "recent_topics": "what they want to talk about again",
    "preferences": "how they want to be treated",
    "name": "what they want to be called",
    "time_zone": "an IANA name, such as Asia/Amman",
}
"""The meanings of the profile fields that Skein knows, as models read them."""


def profile_field(name: str) -> str:
    """Return the name of a profile field, with its meaning if Skein knows the field."""
    meaning = PROFILE_MEANINGS.get(name)
    return f"{name} ({meaning})" if meaning else name


LAST_VERSION = 99_999_999
_BUILT_IN = frozenset(get_args(ToolName))


def is_built_in(name: str) -> bool:
    return name in _BUILT_IN


def agent_partition(tenant: str, agent_id: str) -> str:
    """Return the partition key of an agent, which also holds the agent's open items."""
    return f"{key_part(tenant)}#AGENT#{key_part(agent_id)}"


class AgentFields(BaseModel):
    """The fields of an agent that operators set and that have defaults.

    The agent's versions keep these fields. An enabled tool that no longer exists is ignored.
    """

    system_prompt: Annotated[
        SystemPrompt,
        Field(description="The instructions for the agent, which each prompt contains."),
    ] = ""
    model: Annotated[
        ModelName | None,
        Field(description="The model; null: the deployment's default model."),
    ] = None
    fallback_models: Annotated[
        tuple[ModelName, ...],
        Field(
            max_length=3,
            description="The models that answer, in this order, while `model` is down or "
            "throttled, if the deployment allows them.",
        ),
    ] = ()
    reply_mode: Annotated[
        ReplyMode | None,
        Field(
            description="Whether the agent answers by tools or text; null: by text in a direct "
            "chat, otherwise by tools."
        ),
    ] = None
    history_format: Annotated[
        HistoryFormat | None,
        Field(
            description="How prompts show the history; null: as `roles` in a direct chat, "
            "otherwise as `timeline`."
        ),
    ] = None
    enabled_tools: Annotated[
        tuple[str, ...], Field(description="The tools that the agent may call.")
    ] = DEFAULT_TOOLS
    outsiders: Annotated[
        Outsiders | None,
        Field(
            description="Whether private prompts may quote outsiders, who are in none of the "
            "chats that the run serves. `none`: their words are left out, but not operators' "
            "items. Null: `none` if the agent may call a tool of the tenant that has effects, "
            "else `quoted`."
        ),
    ] = None
    summary_instruction: Annotated[
        str | None,
        Field(
            description="The instruction for the agent's summaries; null or blank: the default.",
            max_length=10_000,
        ),
    ] = None
    profile_fields: ProfileFieldNames = PROFILE_FIELDS
    time_zone: Annotated[
        TimeZone,
        Field(description="The IANA name of the time zone in which prompts give the time."),
    ] = "UTC"
    max_prompt_tokens: Annotated[
        int | None,
        Field(
            description="Maximum tokens of a prompt; null: the deployment's limit.",
            ge=1_000,
            le=1_000_000,
        ),
        NUMBER,
    ] = None
    max_concurrent_runs: Annotated[
        int | None,
        Field(
            description="Concurrency limit of the agent's runs; null: the deployment's limit.",
            ge=1,
            le=1_000,
        ),
        NUMBER,
    ] = None
    description: Annotated[
        str | None,
        StringConstraints(strip_whitespace=True, max_length=500),
        Field(description="What people read about the agent in the directory."),
    ] = None
    listed: Annotated[JsonBool, Field(description="Whether the directory lists the agent.")] = False
    who_may_add: Annotated[
        WhoMayAdd | None,
        Field(
            description="Who may add the agent to chats, also to direct chats; null: `anyone` if "
            "the directory lists the agent, otherwise `operators`."
        ),
    ] = None
    gate: Annotated[
        Gate,
        Field(
            description="Whether a change without a trial in which no required case regressed is "
            "answered with a warning, or refused."
        ),
    ] = "off"


CONFIGURED = ("name", *AgentFields.model_fields, "settings")
"""The fields of an agent that operators set, and that its versions keep."""


class Agent(AgentFields, NamedModel, Stored):
    """An AI with a name, a system prompt, a model and tools.

    Attributes:
        settings: The agent's overrides of settings of its line, its tenant or the deployment.
        changed_at: When operators last changed the agent; None if never.
        changed_by: The operator who last changed the agent.
        deleted_at: When the agent was deleted; its remaining runs are canceled.
    """

    tenant: Tenant
    id: Identifier
    settings: Overrides = NO_OVERRIDES
    version: int = 1
    created_at: Instant
    changed_at: Instant | None = None
    changed_by: Identifier | None = None
    deleted_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, agent_id: str) -> "Key[Agent]":
        return Key(agent_partition(tenant, agent_id), META)

    @property
    def key(self) -> "Key[Agent]":
        return self.key_of(self.tenant, self.id)

    @property
    def tenant_tools(self) -> list[str]:
        """The names of enabled tools that are not built in."""
        return [name for name in self.enabled_tools if name not in _BUILT_IN]

    @property
    def identity(self) -> str:
        """The system prompt; if the system prompt is empty, a sentence with the agent's name."""
        return self.system_prompt.strip() or f"You are {self.name}."

    @property
    def operators_add(self) -> bool:
        """Whether only operators may add the agent to chats."""
        default = "anyone" if self.listed else "operators"
        return (self.who_may_add or default) == "operators"

    @property
    def as_member(self) -> NamedMember:
        """The agent as an entry of a roster."""
        return NamedMember(kind="agent", id=self.id, name=self.name)

    def with_fields(self, values: Mapping[str, Any]) -> "Agent":
        """Return the agent with these values of its fields."""
        return Agent.model_validate({**dict(self), **values})

    def to_item(self) -> Item:
        """Return the agent's table attributes, with the index keys of the tenant's list."""
        return self.attributes() | {"gsi1pk": agents_relation(self.tenant), "gsi1sk": self.id}


class AgentVersion(Stored):
    """One version of an agent's configuration: its fields as they were then.

    Attributes:
        version: The agent's version number.
        changed_at: When the version was made.
        changed_by: The operator who made it; None if that was not recorded.
        restored_from: The earlier version that this version restores; None for any other change.
        fields: The values of the fields in `CONFIGURED`; a field without a value is left out.
    """

    PREFIX: ClassVar = SortKeyPrefix("VERSION#")

    tenant: Tenant
    agent_id: Identifier
    version: int
    changed_at: Instant
    changed_by: Identifier | None = None
    restored_from: int | None = None
    fields: dict[str, Any]

    @classmethod
    def of(cls, agent: Agent, *, restored_from: int | None = None) -> "AgentVersion":
        """Return the current version of an agent."""
        return cls(
            tenant=agent.tenant,
            agent_id=agent.id,
            version=agent.version,
            changed_at=agent.changed_at or agent.created_at,
            changed_by=agent.changed_by,
            restored_from=restored_from,
            fields=agent.model_dump(mode="json", include=set(CONFIGURED), exclude_none=True),
        )

    @staticmethod
    def key_of(tenant: str, agent_id: str, version: int) -> "Key[AgentVersion]":
        """Return the key of a version; newer versions sort before older ones."""
        position = LAST_VERSION - version
        return Key(versions_partition(tenant, agent_id), f"{AgentVersion.PREFIX}{position:08d}")

    @property
    def key(self) -> "Key[AgentVersion]":
        return self.key_of(self.tenant, self.agent_id, self.version)

    @property
    def configured(self) -> dict[str, Any]:
        """The values of all fields in `CONFIGURED`, with defaults for those left out."""
        owner = {"tenant": self.tenant, "id": self.agent_id, "created_at": self.changed_at}
        agent = Agent.model_validate({**owner, **self.fields})
        return {name: getattr(agent, name) for name in CONFIGURED}


def versions_partition(tenant: str, agent_id: str) -> str:
    return f"{agent_partition(tenant, agent_id)}#VERSIONS"


class DirectoryEntry(Stored):
    """A listed agent, as people find it in the directory."""

    PREFIX: ClassVar = SortKeyPrefix("LISTED#")

    tenant: Tenant
    id: Identifier
    name: Name
    description: str | None = None

    @classmethod
    def of(cls, agent: Agent) -> "DirectoryEntry":
        return cls(tenant=agent.tenant, id=agent.id, name=agent.name, description=agent.description)

    @staticmethod
    def key_of(tenant: str, agent_id: str) -> "Key[DirectoryEntry]":
        return Key(directory_partition(tenant), f"{DirectoryEntry.PREFIX}{key_part(agent_id)}")

    @property
    def key(self) -> "Key[DirectoryEntry]":
        return self.key_of(self.tenant, self.id)


def directory_partition(tenant: str) -> str:
    return f"{key_part(tenant)}#DIRECTORY"


def agents_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's agents."""
    return f"{key_part(tenant)}#AGENTS"
