"""Requests and resources of the HTTP API: tools of a tenant."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from skein.models.api.base import ChangeRequest, CreatedAt, Page, Request, Resource
from skein.models.common.base import Instant
from skein.models.directory.agent import OwnToolName
from skein.own_tools.models.tool import (
    Approval,
    OwnTool,
    OwnToolVersion,
    ToolFields,
)

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
    """A new tool, of one kind: `http` or `python`."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE_TOOL})

    name: ToolNamed


class ToolChange(ToolFields, ChangeRequest):
    """Changes to a tool. Omitted fields stay unchanged.

    Null resets `parameters`, `approval`, `approval_text`, `credentials`, `max_calls_per_day`,
    `http` and `python`. Null leaves the other fields unchanged.
    """

    model_config = ConfigDict(json_schema_extra={"example": {"enabled": False}})


class ToolResource(ToolFields, Resource):
    """A tool of the tenant."""

    name: ToolNamed
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
        """Build the resource of a tool."""
        return cls.model_validate(source, from_attributes=True)


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
        """Build the resource of a version."""
        return cls.model_validate(source, from_attributes=True)


class ToolVersionPage(Page[ToolVersionResource]):
    """A page of versions, newest first."""
