"""Signatures as dependencies of FastAPI, or of any other framework on Starlette.

Call = Annotated[dict[str, Any], Depends(signed_call(SECRET))]

@app.get("/orders/{order}")
def order_status(order: str, call: Call): ...
"""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from skein_client.signatures import BadSignature, verify_call, verify_event

UNAUTHORIZED = 401


def signed_call(
    secret: str, *, base_url: str | None = None
) -> Callable[[Request], Awaitable[dict[str, Any]]]:
    """Return a dependency that checks the call of a tool and returns its context.

    A call with a wrong signature is answered with 401. See `verify_call`.

    Args:
        secret: The secret of the tool.
        base_url: The beginning of the tool's URL, before the path; by default that of the request.
            It is required behind a proxy that changes the host, the scheme or the path.
    """

    async def context_of(request: Request) -> dict[str, Any]:
        url, body = _url(request, base_url), await request.body()
        try:
            return verify_call(secret, request.headers, request.method, url, body)
        except BadSignature as error:
            raise HTTPException(UNAUTHORIZED, str(error)) from error

    return context_of


def signed_event(secret: str) -> Callable[[Request], Awaitable[dict[str, Any]]]:
    """Return a dependency that checks an event and returns it.

    An event with a wrong signature is answered with 401. See `verify_event`.

    Args:
        secret: The secret of the event endpoint.
    """

    async def event_of(request: Request) -> dict[str, Any]:
        try:
            return verify_event(secret, request.headers, await request.body())
        except BadSignature as error:
            raise HTTPException(UNAUTHORIZED, str(error)) from error

    return event_of


def _url(request: Request, base_url: str | None) -> str:
    """Return the URL as it was sent. Starlette's own URL has a decoded path."""
    base = base_url or f"{request.url.scheme}://{request.headers.get('host', '')}"
    path = request.scope.get("raw_path", b"").decode() or request.url.path
    query = request.scope.get("query_string", b"").decode()
    return f"{base.rstrip('/')}{path}{'?' if query else ''}{query}"
