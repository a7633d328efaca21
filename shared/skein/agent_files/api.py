"""Requests and resources of the HTTP API: an agent as a file."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from skein.memory.models.memory import MemoryText
from skein.models.api.base import Request, Resource
from skein.models.api.directory import AgentDetail, WholeAgent
from skein.models.common.base import Instant, TimeZone
from skein.models.common.json_types import NUMBER, JsonBool
from skein.own_tools.api import NewTool
from skein.own_tools.models.server_tool import ServerToolRights
from skein.own_tools.models.tool import MAX_TOOLS
from skein.planning.api import NewGoal, SaidTime
from skein.planning.models.goal import MAX_GOALS
from skein.planning.models.plan import MAX_PLANS, PlanFields
from skein.workspace.api.documents import NewDocument, NewSkill, Public
from skein.workspace.models.document import MAX_PINNED
from skein.workspace.models.skill import MAX_SKILLS

MAX_MEMORIES = 500
MAX_DOCUMENTS = 200
LAST_VERSION = 99_999_999


class FilePlan(PlanFields, Request):
    """A plan of the agent that belongs to no chat."""

    cron: Annotated[SaidTime | None, Field(description="Five cron fields, in the time zone.")] = (
        None
    )
    scheduled_at: Annotated[
        Instant | None, Field(description="For a plan that runs once, a time in the future.")
    ] = None
    time_zone: Annotated[
        TimeZone | None, Field(description="The time zone; null: the agent's.")
    ] = None

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if (self.cron is None) == (self.scheduled_at is None):
            raise ValueError("give exactly one of cron and scheduled_at")
        return self


class FileMemory(Request):
    """A core memory that an operator gave the agent."""

    text: MemoryText
    constitutional: Annotated[
        JsonBool, Field(description="Whether prompts always show it, whatever their budget.")
    ] = False
    public: Public = False
    learned_at: Annotated[
        Instant | None, Field(description="The time that prompts show with it; null: now.")
    ] = None


class FileDocument(NewDocument):
    """A document that an operator gave the agent."""

    version: Annotated[
        int,
        Field(ge=1, le=LAST_VERSION, description="The version that prompts show, if it is new."),
        NUMBER,
    ] = 1


class FileTool(NewTool):
    """A tool of the tenant that the agent may call.

    `credentials.secret_arn` is the name of the secret after `{stack}-tools/{tenant}/`, or its ARN.
    """

    rights: Annotated[
        dict[str, ServerToolRights],
        Field(
            default_factory=dict,
            max_length=MAX_TOOLS,
            description="What operators said of an MCP server's tools, by the hash of each tool.",
        ),
    ]


class AgentFile(Request):
    """An agent as a file: its fields and all that operators made for it, without secrets."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "agent": {"name": "Coach", "system_prompt": "You are a running coach."},
                "plans": [
                    {"name": "Check-in", "instruction": "Ask how it went.", "cron": "0 17 * * SUN"}
                ],
                "documents": [{"name": "plan.md", "text": "Run twice a week.", "global": True}],
            }
        }
    )

    about: Annotated[
        str, Field(max_length=500, description="What such an agent does; templates show it.")
    ] = ""
    agent: Annotated[WholeAgent, Field(description="The fields of the agent.")]
    plans: Annotated[
        tuple[FilePlan, ...], Field(max_length=MAX_PLANS, description="Plans without a chat.")
    ] = ()
    goals: Annotated[
        tuple[NewGoal, ...], Field(max_length=MAX_GOALS, description="Active goals.")
    ] = ()
    memories: Annotated[
        tuple[FileMemory, ...],
        Field(max_length=MAX_MEMORIES, description="Core memories, oldest first."),
    ] = ()
    documents: Annotated[
        tuple[FileDocument, ...], Field(max_length=MAX_DOCUMENTS, description="Documents.")
    ] = ()
    skills: Annotated[
        tuple[NewSkill, ...], Field(max_length=MAX_SKILLS, description="Skills of the tenant.")
    ] = ()
    tools: Annotated[
        tuple[FileTool, ...],
        Field(max_length=MAX_TOOLS, description="Tools of the tenant that the agent may call."),
    ] = ()

    @model_validator(mode="after")
    def _no_doubles(self) -> Self:
        for field in ("plans", "documents", "skills", "tools"):
            double = _double([each.name for each in getattr(self, field)])
            if double is not None:
                raise ValueError(f"{field}: two of them have the name {double!r}")
        if sum(each.pinned for each in self.documents) > MAX_PINNED:
            raise ValueError(f"documents: at most {MAX_PINNED} can be global")
        return self


def _double(names: Sequence[str]) -> str | None:
    """Return the first name that occurs twice."""
    return next((name for place, name in enumerate(names) if name in names[:place]), None)


class ExportedFile(Resource):
    """An agent as a file, with the fields of `AgentFile`; items omit fields with default values."""

    agent: Annotated[dict[str, Any], Field(description="The fields of the agent.")]


class NeededSecret(Resource):
    """A secret that a tool sends; no file contains it, so create it if it doesn't exist."""

    tool: Annotated[str, Field(description="The name of the tool.")]
    header: Annotated[str, Field(description="The header in which the tool sends the secret.")]
    secret: Annotated[
        str, Field(description="The name or the ARN of the secret. Create it if it doesn't exist.")
    ]


class ImportedAgent(AgentDetail):
    """An agent that was imported, with the secrets that its tools need."""

    secrets: Annotated[
        tuple[NeededSecret, ...],
        Field(description="The secrets that the tools of the file send."),
    ]
