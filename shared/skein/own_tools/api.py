"""Requests and resources of the HTTP API: tools of a tenant."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from skein.models.api.base import (
    ChangeRequest,
    CreatedAt,
    Id,
    IdOfAgent,
    Page,
    Request,
    Resource,
)
from skein.models.common.base import Instant
from skein.models.directory.agent import OwnToolName
from skein.models.runs.step import CallUsage, ToolStatus
from skein.own_tools.models.approval import Decision, ToolApproval
from skein.own_tools.models.server_tool import ServerTool, ServerToolRights
from skein.own_tools.models.tool import (
    Approval,
    OwnTool,
    OwnToolVersion,
    ToolFields,
)
from skein.own_tools.offered import OfferedTool, OfferState

EXAMPLE_TOOL: dict[str, Any] = {
    "name": "order_status",
    "description": "Look up the state of an order by its number.",
    "parameters": {
        "type": "object",
        "properties": {"order": {"type": "string", "description": "Such as 1234."}},
        "required": ["order"],
    },
    "privacy": "keeps_by_person",
    "http": {"method": "GET", "url": "https://shop.example/orders/{order}"},
}
ToolNamed = Annotated[OwnToolName, Field(description="The name, by which models call it.")]


class NewTool(ToolFields, Request):
    """A new tool, of one kind: `http`, `python` or `mcp`."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE_TOOL})

    name: ToolNamed


class ToolChange(ToolFields, ChangeRequest):
    """Changes to a tool. Omitted fields stay unchanged.

    Null resets `parameters`, `approval`, `approval_text`, `credentials`, `max_calls_per_day`,
    `http`, `python` and `mcp`. Null leaves the other fields unchanged.
    """

    model_config = ConfigDict(json_schema_extra={"example": {"enabled": False}})


class ToolResource(ToolFields, Resource):
    """A tool of the tenant."""

    name: ToolNamed
    names: Annotated[
        tuple[str, ...],
        Field(description="How agents list it: its name, or those of a server's approved tools."),
    ]
    asks: Annotated[Approval, Field(description="Who agrees to each call.")]
    version: Annotated[int, Field(description="The number of the tool's version.")]
    created_at: CreatedAt
    changed_at: Annotated[Instant | None, Field(description="When it was last changed.")]
    changed_by: Annotated[str | None, Field(description="The operator who changed it.")]


class ToolWithSecret(ToolResource):
    """A tool with a new secret. The secret is shown only once."""

    secret: Annotated[str, Field(description="Key that signs the context of each call.")]

    @classmethod
    def of(cls, source: OwnTool, /) -> "ToolWithSecret":
        return cls.model_validate(source, from_attributes=True)


class OfferedToolResource(Resource):
    """A tool that an MCP server offers, in the form that a model would see."""

    name: Annotated[str, Field(description="The name by which agents list it.")]
    state: Annotated[
        OfferState,
        Field(
            description="Whether it is approved. `changed`: the server changed it since, and calls "
            "are refused until the change is approved."
        ),
    ]
    fault: Annotated[
        str | None, Field(description="Why models could not call it; null if they can.")
    ]
    digest: Annotated[str, Field(description="The hash of what an approval approves.")]
    listed: Annotated[ServerTool, Field(description="The tool, with the hints of the server.")]
    rights: Annotated[
        ServerToolRights, Field(description="What the operator who approved it said of it.")
    ]

    @classmethod
    def of(cls, source: OfferedTool, /) -> "OfferedToolResource":
        return cls(
            name=source.name,
            state=source.state,
            fault=source.fault,
            digest=source.listed.digest,
            listed=source.listed,
            rights=source.rights,
        )


class OfferedToolList(Page[OfferedToolResource]):
    """The tools that an MCP server offers now."""


class ServerToolApproval(ServerToolRights, Request):
    """An operator's approval of an MCP server's tool, with the operator's classification of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"tool": "order_status", "digest": "0123456789abcdef", "effect": "read"}
        }
    )

    tool: Annotated[str, Field(max_length=128, description="The name in the server's list.")]
    digest: Annotated[str, Field(max_length=64, description="The hash of what was shown.")]

    @property
    def rights(self) -> ServerToolRights:
        return ServerToolRights(**self.model_dump(include=set(ServerToolRights.model_fields)))


class ToolPage(Page[ToolResource]):
    """A page of tools, by name."""


class ToolVersionResource(Resource):
    """One version of a tool."""

    version: Annotated[int, Field(description="The number.")]
    changed_at: Annotated[Instant, Field(description="When the version was made.")]
    changed_by: Annotated[str | None, Field(description="The operator who made it.")]
    restored_from: Annotated[int | None, Field(description="The version that was restored.")]
    fields: Annotated[dict[str, Any], Field(description="The fields; those without value lack.")]

    @classmethod
    def of(cls, source: OwnToolVersion, /) -> "ToolVersionResource":
        return cls.model_validate(source, from_attributes=True)


class ToolVersionPage(Page[ToolVersionResource]):
    """A page of versions, newest first."""


class ToolDecision(Request):
    """An operator's decision on a call."""

    model_config = ConfigDict(json_schema_extra={"example": {"decision": "approved"}})

    decision: Annotated[Decision, Field(description="Whether the call is made.")]


class ApprovalResource(Resource):
    """A call that waits for an operator, without its arguments."""

    id: Id
    agent_id: IdOfAgent
    chat_id: Annotated[str | None, Field(description="The chat in which the agent was asked.")]
    tool: Annotated[str, Field(description="The name of the tool.")]
    run_id: Annotated[str, Field(description="The run that made the call.")]
    person: Annotated[str | None, Field(description="For whom the call is; null if unclear.")]
    private: Annotated[bool, Field(description="Whether the arguments are private content.")]
    decision: Annotated[Decision | None, Field(description="Null before the decision.")]
    decided_by: Annotated[str | None, Field(description="The operator who decided.")]
    decided_at: Annotated[Instant | None, Field(description="When the operator decided.")]
    created_at: CreatedAt

    @classmethod
    def of(cls, source: ToolApproval, /) -> "ApprovalResource":
        call = source.call
        shared = {
            name: getattr(source, name) for name in cls.model_fields if name in source.__dict__
        }
        return cls(**shared, tool=call.tool, run_id=call.run_id, person=call.person)


class WaitingCallResource(ApprovalResource):
    """A call that waits for an operator, with its arguments."""

    arguments: Annotated[
        str | None,
        Field(description="The arguments as JSON text; null if withheld or erased."),
    ]
    made_at: Annotated[
        tuple[Instant, ...],
        Field(
            description="When the agent made equal calls before, oldest first: in the chat, or in "
            "a run of a plan or a service. Then, when operators approved equal calls in the chat "
            "that are not made yet."
        ),
    ]


class ApprovalList(Page[ApprovalResource]):
    """The calls that wait for an operator, oldest first."""


class ToolTrial(Request):
    """Arguments with which an operator tries a tool."""

    model_config = ConfigDict(json_schema_extra={"example": {"arguments": {"order": "1234"}}})

    arguments: Annotated[dict[str, Any], Field(description="The arguments of the call.")]


class TrialResource(Resource):
    """The result of an operator's trial call, in the form that a model would get."""

    status: Annotated[ToolStatus, Field(description="Whether the tool did its work.")]
    content: Annotated[str, Field(description="The text that a model would be shown.")]
    usage: Annotated[
        CallUsage | None, Field(description="Time, tries and size; null if nothing was sent.")
    ]
