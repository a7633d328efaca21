"""An agent: an AI with a name, a system prompt, a model and tools."""

from typing import Annotated, Literal

from pydantic import Field

from skein.models.base import Identifier, Instant, Name, NamedMember, Stored, Tenant, key_part
from skein.models.overrides import ChatOverrides
from skein.models.storage import META, Item, Key

ReplyMode = Literal["tools", "text"]
HistoryFormat = Literal["timeline", "roles"]

ToolName = Literal[
    "send_message",
    "enter_chat",
    "read_messages",
    "borrow_context",
    "get_my_runs",
    "stop_run",
    "set_goal",
    "complete_goal",
    "abandon_goal",
    "set_plan",
    "cancel_plan",
    "save_memory",
    "forget_memory",
    "search_memories",
    "update_profile",
    "list_documents",
    "read_document",
    "write_document",
    "append_document",
    "edit_document",
    "delete_document",
    "read_skill",
    "create_thread",
    "switch_thread",
    "update_thread",
    "complete_thread",
    "archive_thread",
    "attach_document",
    "detach_document",
    "bind_skill",
    "unbind_skill",
    "peek_document",
    "end_run",
]
"""What an agent may be given; `skein.agent.tools` has a tool for each of these names."""

DEFAULT_TOOLS: tuple[ToolName, ...] = (
    "send_message",
    "enter_chat",
    "read_messages",
    "get_my_runs",
    "end_run",
)

PROFILE_FIELDS: tuple[str, ...] = ("goals", "skill_level", "recent_topics", "preferences")
"""What an agent may note about a person, unless its own `profile_fields` say otherwise."""

PERMITS = "RUNNING"  # behind everything that a prompt's query reads


def agent_partition(tenant: str, agent_id: str) -> str:
    """Return the partition key of an agent and of what it owns openly."""
    return f"{key_part(tenant)}#AGENT#{key_part(agent_id)}"


class Agent(Stored):
    """An agent.

    Attributes:
        model: None for the default model of the deployment.
        reply_mode: None follows the chat (direct: `text`, else `tools`).
        history_format: None follows the chat (direct: `roles`, else `timeline`).
        enabled_tools: Names of tools; one that no longer exists is passed over.
        profile_fields: What it may note about a person with `update_profile`.
        time_zone: IANA name, in which the agent is told the time.
        max_prompt_tokens: The bound of everything that a prompt may hold; None for the setting's.
        max_concurrent_runs: How many of its runs may be at work at once; None for the setting's.
        settings: What it says of settings that a line, its tenant or the deployment would decide.
        deleted_at: Set once it is gone; runs that still mention it are canceled.
    """

    tenant: Tenant
    id: Identifier
    name: Name
    system_prompt: Annotated[str, Field(max_length=50_000)] = ""
    model: str | None = None
    reply_mode: ReplyMode | None = None
    history_format: HistoryFormat | None = None
    enabled_tools: tuple[str, ...] = DEFAULT_TOOLS
    summary_instruction: Annotated[str, Field(max_length=10_000)] | None = None
    profile_fields: tuple[str, ...] = PROFILE_FIELDS
    time_zone: str = "UTC"
    max_prompt_tokens: int | None = None
    max_concurrent_runs: int | None = None
    settings: ChatOverrides = ChatOverrides()
    version: int = 1
    created_at: Instant
    deleted_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, agent_id: str) -> Key:
        """Return the key of an agent."""
        return Key(agent_partition(tenant, agent_id), META)

    @property
    def key(self) -> Key:
        """The key of this agent."""
        return self.key_of(self.tenant, self.id)

    @property
    def identity(self) -> str:
        """Who it is, in its owner's words or, without those, by its name."""
        return self.system_prompt.strip() or f"You are {self.name}."

    @property
    def as_member(self) -> NamedMember:
        """The agent as it stands in a roster."""
        return NamedMember(kind="agent", id=self.id, name=self.name)

    def to_item(self) -> Item:
        """Return the agent as table attributes, listed under its tenant."""
        return self.attributes() | {"gsi1pk": agents_relation(self.tenant), "gsi1sk": self.id}


def agents_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's agents."""
    return f"{key_part(tenant)}#AGENTS"
