"""Requests to services of operators, and their answers."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Value


class HttpRequest(Value):
    """A request to a service."""

    method: str
    url: str
    headers: Annotated[dict[str, str], Field(repr=False)]
    body: Annotated[bytes, Field(repr=False)] = b""


class HttpAnswer(Value):
    """The answer of a service, of any status.

    Attributes:
        content_type: The header `content-type`, or nothing.
        mcp_session: The header `mcp-session-id` of older MCP servers, or nothing.
    """

    status: int
    content_type: str = ""
    mcp_session: Annotated[str, Field(repr=False)] = ""
    body: Annotated[bytes, Field(repr=False)] = b""
