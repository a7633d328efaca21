"""Webhook requests, read from events of API Gateway and of function URLs (payload format 2.0).

The class that Powertools has for these events is not used, because importing it loads the classes
of all other AWS services and so slows down a cold start.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

FUNCTION_URL = "$default"  # the route of all requests to a function's own URL


class Webhook(NamedTuple):
    """Webhook request from an external system.

    Attributes:
        origin: The scheme and domain of a function URL. Empty if the request came through the
            gateway, because the URL that the sender was given may have another domain than the
            gateway.
        path: The route's path from the template, without stage and domain.
        query: The query string as sent.
        headers: Header values by lower-case name.
        parameters: Path parameters by name.
        body: The body as text, or in base64 if `encoded`.
        encoded: Whether the body is in base64.
    """

    origin: str
    path: str
    query: str
    headers: Mapping[str, str]
    parameters: Mapping[str, str]
    body: str
    encoded: bool

    @property
    def provider(self) -> str:
        """The provider that the path names: `twilio` in `/webhooks/twilio/sms`."""
        return next(iter(self.path.split("/")[2:]), "")

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self:
        """Read the request from an event. AWS sets the domain, so the sender cannot forge it."""
        direct = event["routeKey"] == FUNCTION_URL
        return cls(
            origin=f"https://{event['requestContext']['domainName']}" if direct else "",
            path=event["rawPath"] if direct else event["routeKey"].partition(" ")[2],
            query=event.get("rawQueryString") or "",
            headers={name.lower(): value for name, value in (event.get("headers") or {}).items()},
            parameters=event.get("pathParameters") or {},
            body=event.get("body") or "",
            encoded=bool(event.get("isBase64Encoded")),
        )
