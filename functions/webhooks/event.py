"""Webhook requests, read from API Gateway events (payload format 2.0).

Powertools has a class for these events, but its import also loads the classes of all other AWS
services, which slows a cold start.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self


class Webhook(NamedTuple):
    """Webhook request from an external system.

    Attributes:
        path: The route's path from the template, without stage and domain.
        query: The query string as sent.
        headers: Header values by lower-case name.
        parameters: Path parameters by name.
        body: The body as text, or in base64 if `encoded`.
        encoded: Whether the body is in base64.
    """

    path: str
    query: str
    headers: Mapping[str, str]
    parameters: Mapping[str, str]
    body: str
    encoded: bool

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self:
        """Read the request from an API Gateway event."""
        return cls(
            path=event["routeKey"].partition(" ")[2],
            query=event.get("rawQueryString") or "",
            headers={name.lower(): value for name, value in (event.get("headers") or {}).items()},
            parameters=event.get("pathParameters") or {},
            body=event.get("body") or "",
            encoded=bool(event.get("isBase64Encoded")),
        )
