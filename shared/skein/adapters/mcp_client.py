"""The client of MCP servers, by the official library over Streamable HTTP.

All requests go through a function that the caller passes, which guards the network and signs the
requests. The library uses this function as its HTTP transport, and opens no connection itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from contextlib import asynccontextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from skein.errors import Ambiguous, Failed, SkeinError
from skein.models.chats.choice import MAX_LABEL, MAX_OPTIONS
from skein.models.common.characters import is_visible
from skein.models.common.http import HttpRequest, ListedTool, McpAnswer, McpListing, McpQuestion

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import httpx2
    from mcp.client.session import ClientSession
    from mcp_types import CallToolResult, InputRequiredResult

    from skein.models.common.http import McpReply
    from skein.ports import SendRequest

T = TypeVar("T")

METHOD_NOT_ALLOWED = 405
MAX_PAGES = 10
MAX_STATE = 4_000  # maximum length of the state that a server expects back with an answer
MAX_ROUNDS = 3  # the maximum number of questions that are declined in one call
# The headers that the protocol needs. The guard sets those of the connection.
SENT_HEADERS = ("accept", "content-type", "last-event-id")
PROTOCOL_HEADERS = "mcp-"
# Packages whose `__init__` imports the library's server, which adds 20 MB that the layer lacks.
CLIENT_ONLY = ("mcp", "mcp.client")


class _RefusedError(Exception):
    """A server answered with a protocol error; the exception's text is the error's message."""


class LibraryMcpClient:
    """`McpClient` by the official library."""

    def tools(self, url: str, send: SendRequest, *, seconds: float) -> McpListing:

        async def listed(session: ClientSession) -> McpListing:
            from mcp_types import PaginatedRequestParams

            tools: list[ListedTool] = []
            cursor = None
            for _ in range(MAX_PAGES):
                page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
                tools += map(_listed, page.tools)
                cursor = page.next_cursor
                if cursor is None:
                    break
            return McpListing(version=session.protocol_version or "", tools=tuple(tools))

        try:
            return _in_session(url, None, send, listed, seconds)
        except _RefusedError:
            raise Failed("the server refuses to list its tools") from None

    def call(
        self,
        url: str,
        version: str,
        name: str,
        arguments: dict[str, Any],
        send: SendRequest,
        *,
        seconds: float,
        may_ask: bool = False,
        reply: McpReply | None = None,
    ) -> McpAnswer:

        async def called(session: ClientSession) -> McpAnswer:
            given: dict[str, Any] = {}
            if reply is not None:
                content = {reply.question.field: reply.value}
                given = _replies({reply.question.key: content}, reply.question.state)
            for _ in range(MAX_ROUNDS):
                result = await session.call_tool(
                    name, arguments, allow_input_required=True, **given
                )
                if not hasattr(result, "input_requests"):
                    return _answer(result)
                question = _question(result) if may_ask else None
                if question is not None:
                    return McpAnswer(refused=False, question=question)
                declined = dict.fromkeys(result.input_requests or {})
                given = _replies(declined, result.request_state)
            raise Ambiguous("it asks again and again")

        try:
            return _in_session(url, version, send, called, seconds)
        except _RefusedError as error:
            return McpAnswer(refused=True, text=str(error))


def _in_session(
    url: str,
    version: str | None,
    send: SendRequest,
    ask: Callable[[ClientSession], Awaitable[T]],
    seconds: float,
) -> T:
    """Send a request to a server in a session.

    An error of `send` ends the session, and is raised unchanged, because the library would hide it.

    Raises:
        _RefusedError: The server answered with a protocol error.
        Ambiguous: The server broke the protocol, or the time-out passed.
    """
    _import_client_only()
    from mcp.shared.exceptions import MCPError

    raised: list[BaseException] = []

    async def bounded() -> T:
        async with asyncio.timeout(seconds), _session(url, version, send, raised) as session:
            return await ask(session)

    try:
        result = asyncio.run(bounded())
    except BaseException as error:
        cause = raised[0] if raised else _first(error)
        if isinstance(cause, MCPError):
            raise _RefusedError(cause.error.message) from None
        if isinstance(cause, TimeoutError):
            raise Ambiguous("it took too long") from None
        if isinstance(cause, SkeinError) or not isinstance(cause, Exception):
            raise cause from None
        raise Ambiguous(f"it broke the protocol: {type(cause).__name__}") from cause
    if raised:
        raise raised[0]
    return result


@asynccontextmanager
async def _session(
    url: str, version: str | None, send: SendRequest, raised: list[BaseException]
) -> AsyncIterator[ClientSession]:
    """Open a session; if `version` is a stateless protocol version, this sends no request."""
    import httpx2
    from mcp.client._probe import negotiate_auto
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types import DiscoverResult, ServerCapabilities
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    class Session(ClientSession):
        async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
            """Skip the validation of results, because the model reads a result as plain text."""

    stateless = version in MODERN_PROTOCOL_VERSIONS
    async with (
        httpx2.AsyncClient(transport=_guarded(send, raised)) as client,
        streamable_http_client(url, http_client=client) as (read, write),
        # Older servers ask during a call, when a person could not answer fast enough.
        Session(read, write, elicitation_callback=_asked if stateless else None) as session,
    ):
        if stateless:
            known = {"supported_versions": [version], "capabilities": ServerCapabilities()}
            session.adopt(DiscoverResult.model_validate({"ttl_ms": 0, **known}))
        else:
            await negotiate_auto(session)
        yield session


def _guarded(send: SendRequest, raised: list[BaseException]) -> httpx2.AsyncBaseTransport:
    """Return a transport that sends requests with `send`, one at a time."""
    import httpx2

    class GuardedSender(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if raised:
                raise httpx2.ConnectError("the session has ended")
            if request.method == "GET":  # the stream for messages that the server sends unasked
                return httpx2.Response(METHOD_NOT_ALLOWED, request=request)
            headers = {
                name: value
                for name, value in request.headers.items()
                if name in SENT_HEADERS or name.startswith(PROTOCOL_HEADERS)
            }
            sent = HttpRequest(
                method=request.method,
                url=str(request.url),
                headers=headers,
                body=await request.aread(),
            )
            try:
                answer = send(sent)
            except BaseException as error:
                if request.method != "DELETE" or not isinstance(error, SkeinError):
                    raised.append(error)  # a failed DELETE does no harm: the session just lives on
                raise httpx2.ConnectError("the request failed") from error
            kept = {"content-type": answer.content_type}
            if answer.mcp_session:
                kept["mcp-session-id"] = answer.mcp_session
            return httpx2.Response(
                answer.status, headers=kept, content=answer.body, request=request
            )

    return GuardedSender()


async def _asked(context: Any, params: Any) -> Any:
    """Decline a question that a server sends in a separate request, not as the result of a call."""
    from mcp_types import ElicitResult

    return ElicitResult(action="decline")


def _listed(tool: Any) -> ListedTool:
    hints = tool.annotations
    return ListedTool(
        name=tool.name,
        description=tool.description or tool.title or "",
        parameters=dict(tool.input_schema),
        reads=bool(hints and hints.read_only_hint),
        idempotent=bool(hints and hints.idempotent_hint),
    )


def _answer(result: Any) -> McpAnswer:
    """Return the text of a result, or its structured content if it has no text."""
    words = [getattr(each, "text", f"[{each.type}]") for each in result.content]
    if not any(words) and result.structured_content is not None:
        words = [json.dumps(result.structured_content, ensure_ascii=False)]
    return McpAnswer(refused=bool(result.is_error), text="\n".join(words))


def _question(result: InputRequiredResult) -> McpQuestion | None:
    """Return the question of a server; None if the question has no fixed set of answers."""
    asked = list((result.input_requests or {}).items())
    if len(asked) != 1:
        return None
    key, request = asked[0]
    params: Any = getattr(request, "params", None)
    schema = getattr(params, "requested_schema", None)
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    if len(properties) != 1:
        return None
    [(field, part)] = properties.items()
    values = _values(part)
    if (values is None and part.get("type") != "boolean") or not params.message.strip():
        return None
    if len(result.request_state or "") > MAX_STATE:
        return None
    return McpQuestion(
        key=key, field=field, text=params.message, values=values, state=result.request_state
    )


def _values(part: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the values of an enum of strings; None for any other field."""
    if part.get("type", "string") != "string":
        return None
    titled = part.get("oneOf") or part.get("anyOf") or ()
    values = part.get("enum") or [each.get("const") for each in titled]
    fit = all(isinstance(each, str) and is_visible(each) for each in values)
    if not fit or len(values) > MAX_OPTIONS or max(map(len, values), default=0) > MAX_LABEL:
        return None
    return tuple(values) if all(each.strip() for each in values) and values else None


def _replies(content: dict[str, Any], state: str | None) -> dict[str, Any]:
    """Return the call arguments that answer a server's questions.

    Args:
        content: The answers, by the key of the question; None declines the question.
        state: The state that the server expects back.
    """
    from mcp_types import ElicitResult

    replies = {
        key: ElicitResult(action="decline" if value is None else "accept", content=value)
        for key, value in content.items()
    }
    return {"input_responses": replies or None, "request_state": state}


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _import_client_only() -> None:
    """Import the packages of the library without their `__init__`, which imports the server.

    The client does not need the server and its dependencies, so the layer does not contain them.
    """
    # The library logs what servers send, and the ids of their sessions.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    for name in CLIENT_ONLY:
        if name not in sys.modules:
            spec = find_spec(name)
            if spec is None or spec.submodule_search_locations is None:
                raise ModuleNotFoundError(name)
            package = ModuleType(name)
            package.__path__ = list(spec.submodule_search_locations)
            package.__spec__ = spec
            sys.modules.setdefault(name, package)  # another thread may have imported it first
