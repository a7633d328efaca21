"""Requests to operators' services and their answers, including those of MCP servers."""

from typing import Annotated, Any

from pydantic import Field

from skein.models.common.base import Value


class HttpRequest(Value):
    """A request to a service."""

    method: str
    url: str
    headers: Annotated[dict[str, str], Field(repr=False)]
    body: Annotated[bytes, Field(repr=False)] = b""


class HttpAnswer(Value):
    """The response of a service, with any HTTP status.

    Attributes:
        content_type: The header `content-type`; empty if there is none.
        mcp_session: The header `mcp-session-id` of older MCP servers; empty if there is none.
        etag: The header `etag`; empty if there is none.
        last_modified: The header `last-modified`; empty if there is none.
    """

    status: int
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    mcp_session: Annotated[str, Field(repr=False)] = ""
    body: Annotated[bytes, Field(repr=False)] = b""


class ListedTool(Value):
    """A tool, as its server lists it.

    Attributes:
        parameters: The JSON Schema of the arguments, as the server wrote it.
        reads: Whether the server hints that a call only reads.
        idempotent: Whether the server hints that a repeated call has no further effect.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    reads: bool
    idempotent: bool


class McpListing(Value):
    """The tools of a server.

    Attributes:
        version: The version of the protocol that the server spoke.
    """

    version: str
    tools: tuple[ListedTool, ...]


class McpQuestion(Value):
    """A question that a server asks before it answers a call, with a closed set of answers.

    Attributes:
        key: The key under which the server expects the answer.
        field: The name of the field in which the server expects the chosen value.
        text: The text of the question.
        values: The values that may be chosen; None for yes or no.
        state: The state that the server expects back with the answer.
    """

    key: str
    field: str
    text: str
    values: tuple[str, ...] | None = None
    state: str | None = None


class McpAnswer(Value):
    """The answer of a server to a call.

    Attributes:
        refused: Whether the server says that the call failed.
        text: The text of the answer.
        question: The question that the server asks first; None if the server has answered.
    """

    refused: bool
    text: Annotated[str, Field(repr=False)] = ""
    question: McpQuestion | None = None


class McpReply(Value):
    """The answer of a person to a question of a server."""

    question: McpQuestion
    value: str | bool
