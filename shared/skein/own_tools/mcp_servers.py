"""MCP servers: the tools that they offer, cached for an hour, and calls of approved tools.

A model is shown only what an operator approved. If a server changes a tool, calls of the tool are
refused until an operator approves the change. A server can therefore not show a model new
instructions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from skein.errors import Ambiguous, Failed, Unavailable
from skein.models.common.http import (
    HttpAnswer,
    HttpRequest,
    ListedTool,
    McpAnswer,
    McpListing,
    McpReply,
)
from skein.models.runs.reduced_schema import reduced
from skein.own_tools.models.server_tool import ServerTool
from skein.own_tools.models.tool import OwnTool
from skein.own_tools.signed_context import CallContext
from skein.own_tools.signed_sending import Seen, SignedSender
from skein.ports import Clock, McpClient, SendRequest

CACHED = timedelta(hours=1)
MAX_DESCRIPTION = 2_000
MAX_CACHED = 200  # servers whose listings one container caches

GONE = "its server no longer has it; say that the team must repair it"
CHANGED = "its server changed it, and an operator must approve that; say that it does not work now"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServers:
    """The service that lists and calls the tools of MCP servers.

    Attributes:
        listings: The last listing of each server and the time of the listing, by the server's
            tenant, name and address.
    """

    mcp: Callable[[], McpClient]
    http: SignedSender
    clock: Clock
    listings: dict[tuple[str, str, str], tuple[datetime, McpListing]] = field(default_factory=dict)

    def offered(
        self, record: OwnTool, context: CallContext, *, seconds: float, fresh: bool = True
    ) -> Mapping[str, ServerTool]:
        """Return the tools that a server offers, by name, in the form that a model is shown.

        Raises:
            Failed: The server refuses, or must not be called.
            Unavailable: The server did not answer.
        """
        listing = self._listing(record, context, seconds, fresh=fresh)
        return {each.name: _as_shown(each) for each in listing.tools}

    def call(
        self,
        record: OwnTool,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        seconds: float,
        seen: Seen,
        may_ask: bool = False,
        reply: McpReply | None = None,
    ) -> McpAnswer:
        """Call a tool of a server, if it is unchanged since an operator approved it.

        Args:
            record: A tool that `OwnTool.of_server` returned.
            seen: Called with each answer of the server.
            may_ask: Whether a person can be asked a question of the server.
            reply: A person's answer to the question of an earlier call.

        Raises:
            Failed: The tool was changed, or must not be called.
            Unavailable: The server was not reached, and did nothing.
            Ambiguous: The server may have carried out the call.
        """
        until = self.clock.now() + timedelta(seconds=seconds)
        [approved] = record.approved
        listing = self._listing(record, context, seconds, fresh=False)
        if _found(listing, approved) != approved:
            listing = self._listing(record, context, self._left(until), fresh=True)
        now = _found(listing, approved)
        if now != approved:
            raise Failed(GONE if now is None else CHANGED)
        left = self._left(until)
        return self.mcp().call(
            _url(record),
            listing.version,
            approved.name,
            dict(sorted(arguments.items())),
            self._sending(record, context, left, seen),
            seconds=left,
            may_ask=may_ask,
            reply=reply,
        )

    def _listing(
        self, record: OwnTool, context: CallContext, seconds: float, *, fresh: bool
    ) -> McpListing:
        key = (record.tenant, record.service, _url(record))
        at, known = self.listings.get(key, (None, None))
        if not fresh and known is not None and at is not None and self.clock.now() < at + CACHED:
            return known
        send = self._sending(record, context, seconds, lambda _: None)
        try:
            listing = self.mcp().tools(_url(record), send, seconds=seconds)
        except Ambiguous as error:
            raise Unavailable(str(error)) from None
        if len(self.listings) >= MAX_CACHED:
            self.listings.clear()
        self.listings[key] = (self.clock.now(), listing)
        return listing

    def _sending(
        self, record: OwnTool, context: CallContext, seconds: float, seen: Seen
    ) -> SendRequest:
        until = self.clock.now() + timedelta(seconds=seconds)

        def send(request: HttpRequest) -> HttpAnswer:
            left = self._left(until)
            return self.http.send(record, request, context, seconds=left, seen=seen)

        return send

    def _left(self, until: datetime) -> float:
        left = (until - self.clock.now()).total_seconds()
        if left <= 0:
            raise Ambiguous("it took too long")
        return left


def _url(record: OwnTool) -> str:
    if record.mcp is None:
        raise Failed("the tool has no server")
    return record.mcp.url


def _found(listing: McpListing, approved: ServerTool) -> ServerTool | None:
    listed = (each for each in listing.tools if each.name == approved.name)
    return next(map(_as_shown, listed), None)


def _as_shown(tool: ListedTool) -> ServerTool:
    return ServerTool(
        name=tool.name,
        description=tool.description.strip()[:MAX_DESCRIPTION],
        parameters=reduced(tool.parameters),
        effect="read" if tool.reads else "write",
        idempotent=tool.idempotent,
    )
